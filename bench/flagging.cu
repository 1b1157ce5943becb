/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Measures what flags cost behind an F-engine on a GPU. Times are those of a frame in
 * calls of many frames:
 *
 *  - the F-engine alone,
 *  - with flags, a frame or 16 MB at a time, which are read again while they are in the
 *    cache,
 *  - with flags from sums that the F-engine makes, and the cost of these sums, - flags
 *  alone.
 *
 * bench_flagging [ROW]: all rows, or that one, counted from 1.
 */

#include "gpu.cuh"
#include "kernels/f_engine/f_engine.h"
#include "kernels/flagging/flagging.h"
#include "kernels/pfb/prototype.h"
#include <cstdio>
#include <vector>

using namespace gr::aperture::kernels;

namespace {

void measure_row(int channels,
                 int inputs,
                 int times,
                 int slice,
                 const flagging_methods& methods,
                 const char* name,
                 bool delayed = false)
{
    const device gpu = device::select("cuda");
    const auto own = gpu.make_stream();
    f_engine::parameters p{};
    p.filter.channels = channels;
    p.filter.ports = inputs;
    p.filter.inputs_per_port = 1;
    p.filter.input = sample_type::sc8;
    p.filter.output = sample_type::sc8;
    p.filter.taps = 8;
    p.filter.prototype = prototype(channels, 8, "hann");
    p.spectra_per_frame = times;
    p.first_channel = 0;
    p.selected_channels = channels;
    const flagging::parameters q{ { channels, inputs, times, slice },
                                  sample_type::sc8,
                                  methods };
    const auto engine = f_engine::make(p, gpu);
    const auto flags = flagging::make(q, gpu);
    const int frames = std::max(2, int((size_t(256) << 20) / q.frame_bytes()));
    const size_t samples = (size_t(frames) * times + 8) * channels;
    cuda::device_array<uint32_t> in(samples * inputs / 2 + 64);
    cuda::device_array<uint8_t> out(frames * q.frame_bytes());
    cuda::device_array<uint8_t> masks(frames * q.layout.item_bytes());
    fill<<<1024, 256, 0, cuda::native(*own)>>>(in.data(), in.size());
    const std::vector<cfloat> gains(size_t(channels) * inputs, cfloat(0.3f));
    engine->set_gains(gains.data(), *own);
    const auto sources = [&](int frame) {
        std::vector<pfb::source> from(inputs);
        for (int i = 0; i < inputs; i++) {
            from[i].samples = reinterpret_cast<const char*>(in.data()) +
                              2 * (i * samples + size_t(frame) * times * channels);
        }
        return from;
    };
    if (delayed) {
        std::vector<delay> delays(inputs);
        for (int i = 0; i < inputs; i++)
            delays[i] = { i % 2, 0.1 * i, 1e-6, 0.2 * i, 1e-3 };
        engine->set_delays(delays.data(), *own);
    }
    const auto frame_at = [&](int f) { return out.data() + f * q.frame_bytes(); };
    const auto mask_at = [&](int f) { return masks.data() + f * q.layout.item_bytes(); };
    const auto filter = [&](int frame, int count) {
        engine->execute(sources(frame).data(), frame_at(frame), 0, count * times, *own);
    };
    const auto flag = [&](int frame, int count) {
        flags->execute(
            frame_at(frame), frame_at(frame), mask_at(frame), count, nullptr, *own);
    };
    const auto timed = [&](const std::function<void()>& call) {
        rest(*own, 100);
        return median_time(*own, 9, call) / frames * 1e6;
    };
    const int in_cache =
        std::min<int>(frames, std::max<int>(1, int((16 << 20) / q.frame_bytes())));
    const double alone = timed([&] { filter(0, frames); });
    const double behind = timed([&] {
        for (int f = 0; f < frames; f += in_cache) {
            const int count = std::min(in_cache, frames - f);
            filter(f, count);
            flag(f, count);
        }
    });
    double filter_and_sum = 0, summed = 0;
    if (engine->prepare_sums(slice) && flags->prepare_sums(frames + 1, channels, 0)) {
        const auto sum = [&] {
            if (!engine->execute_and_sum(sources(0).data(),
                                         frame_at(0),
                                         0,
                                         frames * times,
                                         flags->sums(),
                                         *own))
                throw std::runtime_error("the F-engine has not made sums");
        };
        filter_and_sum = timed(sum);
        flags->clear(*own);
        summed = timed([&] {
            sum();
            flags->execute_summed(frame_at(0), mask_at(0), frames, nullptr, *own);
        });
    }
    const double flags_alone = timed([&] { flag(0, frames); });
    const double again = timed([&] { filter(0, frames); });
    const auto part = [&](double time) { return 100 * (time / alone - 1); };
    std::printf(
        "| %d | %d%s | %d / %d | %.1f | %s | %.2f (%.2f) | %.2f, %+.1f %% | %.2f, "
        "%+.1f %% | %.2f, %+.1f %% | %.2f |\n",
        channels,
        inputs,
        delayed ? ", delayed" : "",
        times,
        slice,
        double(q.frame_bytes()) / 1e6,
        name,
        alone,
        again,
        behind,
        part(behind),
        filter_and_sum,
        part(filter_and_sum),
        summed,
        part(summed),
        flags_alone);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc > 2)
        throw std::invalid_argument("one row's number at most is allowed");
    const int only = argc > 1 ? std::atoi(argv[1]) : 0;
    int row = 0;
    const auto measure = [&](auto... of) {
        if (++row == only || only == 0)
            measure_row(of...);
    };
    cudaDeviceProp about;
    cuda::check(cudaGetDeviceProperties(&about, 0), "asking for the GPU");
    std::printf(
        "%s; microseconds a frame\n\n"
        "| channels | inputs | spectra / slice | MB | methods | F-engine (again) | "
        "with flags | with sums | with flags from sums | flags |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n",
        about.name);
    flagging_methods kurtosis, all;
    kurtosis.kurtosis_false_alarms = 0.0027;
    all = kurtosis;
    all.time_sigma = all.channel_sigma = 6;
    all.time_sum_sigma = all.channel_sum_sigma = 6;
    flagging_methods robust = kurtosis;
    robust.time_sigma = robust.channel_sigma = 6;
    for (const int times : { 256, 1024, 8192 }) {
        const int slice = std::min(times, 1024);
        measure(1024, 8, times, slice, kurtosis, "kurtosis");
        measure(1024, 8, times, slice, robust, "and robust");
        measure(1024, 8, times, slice, all, "all");
    }
    measure(1024, 64, 1024, 256, kurtosis, "kurtosis");
    measure(1024, 64, 1024, 256, kurtosis, "kurtosis", true);
    measure(1024, 64, 1024, 1024, all, "all");
    measure(2048, 16, 1024, 1024, kurtosis, "kurtosis");
    measure(4096, 16, 1024, 1024, kurtosis, "kurtosis");
    measure(4096, 16, 1024, 1024, kurtosis, "kurtosis", true);
    measure(8192, 8, 1024, 1024, kurtosis, "kurtosis");
    measure(512, 16, 1024, 1024, kurtosis, "kurtosis"); // no sums
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_flagging: %s\n", e.what());
    return 1;
}
