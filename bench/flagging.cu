/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * bench_flagging: what flags cost behind an F-engine on a GPU: in place, frame by frame
 * while a frame is in the cache, in the same stream or in one beside it, and alone.
 */

#include "gpu.cuh"
#include "kernels/f_engine/f_engine.h"
#include "kernels/flagging/flagging.h"
#include "kernels/pfb/prototype.h"
#include <cstdio>
#include <vector>

using namespace gr::aperture::kernels;

namespace {

void measure(int channels,
             int inputs,
             int times,
             int slice,
             const flagging_methods& methods,
             const char* name)
{
    const device gpu = device::select("cuda");
    const auto own = gpu.make_stream(), beside = gpu.make_stream();
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
    const auto filter = [&](int frame) {
        std::vector<pfb::source> from(inputs);
        for (int i = 0; i < inputs; i++) {
            from[i].samples = reinterpret_cast<const char*>(in.data()) +
                              2 * (i * samples + size_t(frame) * times * channels);
        }
        engine->execute(
            from.data(), out.data() + frame * q.frame_bytes(), 0, times, *own);
    };
    const auto flag = [&](int frame, stream& s) {
        uint8_t* at = out.data() + frame * q.frame_bytes();
        flags->execute(
            at, at, masks.data() + frame * q.layout.item_bytes(), 1, nullptr, s);
    };
    const auto timed = [&](const std::function<void()>& call) {
        rest(*own, 100);
        return median_time(*own, 7, call) / frames * 1e6;
    };
    const double alone = timed([&] {
        for (int f = 0; f < frames; f++)
            filter(f);
    });
    const double behind = timed([&] {
        for (int f = 0; f < frames; f++) {
            filter(f);
            flag(f, *own);
        }
    });
    const double next_to = timed([&] {
        for (int f = 0; f < frames; f++) {
            filter(f);
            beside->wait(own->record());
            flag(f, *beside);
        }
        own->wait(beside->record());
    });
    const double flags_alone = timed([&] {
        for (int f = 0; f < frames; f++)
            flag(f, *own);
    });
    const double again = timed([&] {
        for (int f = 0; f < frames; f++)
            filter(f);
    });
    std::printf(
        "%5d x %3d x %5d/%5d %6.1f MB %-9s F %7.2f (%7.2f) us, behind %7.2f (+%5.1f %%), "
        "beside %7.2f (+%5.1f %%), flags alone %7.2f us\n",
        channels,
        inputs,
        times,
        slice,
        double(q.frame_bytes()) / 1e6,
        name,
        alone,
        again,
        behind,
        100 * (behind / alone - 1),
        next_to,
        100 * (next_to / alone - 1),
        flags_alone);
    std::fflush(stdout);
}

} // namespace

int main()
{
    cudaDeviceProp about;
    cuda::check(cudaGetDeviceProperties(&about, 0), "asking for the GPU");
    std::printf("%s; us a frame\n", about.name);
    flagging_methods kurtosis, all;
    kurtosis.kurtosis_false_alarms = 0.0027;
    all = kurtosis;
    all.time_sigma = all.channel_sigma = 6;
    all.time_sum_sigma = all.channel_sum_sigma = 6;
    flagging_methods robust = kurtosis;
    robust.time_sigma = robust.channel_sigma = 6;
    for (const int times : { 256, 1024, 4096, 8192 }) {
        measure(1024, 8, times, std::min(times, 1024), kurtosis, "kurtosis");
        measure(1024, 8, times, std::min(times, 1024), robust, "and robust");
        measure(1024, 8, times, std::min(times, 1024), all, "all");
    }
    measure(1024, 64, 1024, 256, kurtosis, "kurtosis");
    measure(1024, 64, 1024, 1024, all, "all");
    measure(4096, 16, 1024, 1024, kurtosis, "kurtosis");
    return 0;
}
