/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares flags of the GPU with the host's: the same bits of integers; of fc32, whose
 * sums are rounded in another order, at most one cell in 2000 may differ. And flags from
 * sums that the F-engine on tensor cores makes with those from its voltages: the same
 * bits. Needs no GNU Radio.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/f_engine/f_engine.h"
#include "kernels/flagging/flagging.h"
#include "kernels/pfb/prototype.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>
#include <cmath>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

//! Noise with a slope over the band, a carrier in a channel and a pulse in some frames.
std::vector<char> voltages_of(const flagging::parameters& p, int frames)
{
    const auto& l = p.layout;
    const double rms = p.type == sample_type::sc8 ? 15 : 2;
    std::normal_distribution<float> normal(0, float(rms));
    std::vector<char> bytes(frames * p.frame_bytes());
    size_t at = 0;
    for (int f = 0; f < frames; f++)
        for (int c = 0; c < l.channels; c++)
            for (int i = 0; i < l.inputs; i++)
                for (int t = 0; t < l.spectra_per_frame; t++, at++) {
                    float scale = 1 + 0.2f * float(c) / float(l.channels);
                    if (f % 4 == 2 && c > l.channels / 2 && t % 7 == 0)
                        scale *= 2;
                    float re = normal(random_bits) * scale;
                    float im = normal(random_bits) * scale;
                    if (c == l.channels / 3)
                        re += float(1.5 * rms);
                    if (p.type == sample_type::fc32) {
                        reinterpret_cast<cfloat*>(bytes.data())[at] = { re, im };
                        continue;
                    }
                    const float limit = p.type == sample_type::sc8 ? 127 : 7;
                    const int a = int(std::nearbyint(std::clamp(re, -limit, limit)));
                    const int b = int(std::nearbyint(std::clamp(im, -limit, limit)));
                    if (p.type == sample_type::sc8) {
                        bytes[2 * at] = char(a);
                        bytes[2 * at + 1] = char(b);
                    } else {
                        bytes[at] = char((a & 15) << 4 | (b & 15));
                    }
                }
    return bytes;
}

void check_case(const flagging::parameters& p, int frames, bool missing, bool in_place)
{
    const auto& l = p.layout;
    const std::string what =
        name_of(p.type) + " " + std::to_string(l.channels) + " x " +
        std::to_string(l.inputs) + " x " + std::to_string(l.spectra_per_frame) + "/" +
        std::to_string(l.spectra_per_slice) + (missing ? ", missing" : "") +
        (in_place ? ", in place" : "");
    const auto in = voltages_of(p, frames);
    const size_t mask_bytes = frames * l.item_bytes();
    std::vector<int> there(size_t(frames) * l.inputs * l.slices());
    for (auto& n : there)
        n = random_bits() % 3 ? l.spectra_per_slice
                              : int(random_bits() % (l.spectra_per_slice + 1));
    std::vector<char> expected(in.size());
    std::vector<uint8_t> expected_masks(mask_bytes, 0xee);
    host_stream on_host;
    const auto host = host::make<flagging>(p);
    const guarded from(in), to(in.size()), masks(mask_bytes);
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    delay_default_stream();
    const auto kernel = cuda::make<flagging>(p, 0);
    void* out = in_place ? from.data() : to.data();
    // two calls, so that what is kept from one to the next shows
    const int first = frames / 3;
    for (const auto [begin, end] : { std::pair(0, first), std::pair(first, frames) }) {
        const int* counts =
            missing ? there.data() + size_t(begin) * l.inputs * l.slices() : nullptr;
        host->execute(in.data() + begin * p.frame_bytes(),
                      expected.data() + begin * p.frame_bytes(),
                      expected_masks.data() + begin * l.item_bytes(),
                      end - begin,
                      counts,
                      on_host);
        kernel->execute(static_cast<char*>(from.data()) + begin * p.frame_bytes(),
                        static_cast<char*>(out) + begin * p.frame_bytes(),
                        static_cast<uint8_t*>(masks.data()) + begin * l.item_bytes(),
                        end - begin,
                        counts,
                        s);
    }
    s.synchronize();
    const auto found = masks.values<uint8_t>();
    size_t different = 0, flagged = 0;
    for (size_t i = 0; i < mask_bytes; i++) {
        different += __builtin_popcount(found[i] ^ expected_masks[i]);
        flagged += __builtin_popcount(expected_masks[i]);
    }
    const size_t cells = size_t(frames) * l.channels * l.inputs * l.slices();
    std::printf("  %s: %zu of %zu cells flagged, %zu different\n",
                what.c_str(),
                flagged,
                cells,
                different);
    expect(different <= (p.type == sample_type::fc32 ? cells / 2000 : 0),
           what + ", masks");
    expect(masks.untouched_around() && to.untouched_around() && from.untouched_around(),
           what + ", guards");
    expect(flagged > 0, what + ", any flags");
    if (different == 0) {
        const auto made = (in_place ? from : to).values<char>();
        expect(made == expected, what + ", voltages");
        expect(kernel->found().inputs == host->found().inputs &&
                   kernel->found().channels == host->found().channels,
               what + ", counts");
    }
}

void check_flagging(bool quick)
{
    flagging_methods all;
    all.kurtosis_false_alarms = 0.002;
    all.most_power = 3000;
    all.time_sigma = 4;
    all.channel_sigma = 4;
    all.time_sum_sigma = 5;
    all.channel_sum_sigma = 5;
    all.bad_channels = { 1 };
    all.grown_slices = 1;
    all.grown_channels = 1;
    flagging_methods only;
    only.kurtosis_false_alarms = 0.01;
    for (const auto type : { sample_type::sc8, sample_type::sc4, sample_type::fc32 })
        for (const auto& methods : { all, only }) {
            check_case({ { 70, 5, 320, 64 }, type, methods }, 12, true, false);
            check_case({ { 33, 3, 256, 256 }, type, methods }, 40, false, true);
            if (quick)
                continue;
            for (const int odd : { 65, 66, 68, 72, 80 })
                check_case({ { 9, 2, odd * 9, odd }, type, methods }, 7, true, true);
            check_case({ { 600, 8, 1024, 512 }, type, methods }, 3, false, false);
        }
}

//! An F-engine and its calls, as spectra of each; a port is lost in one of them.
struct summed_case {
    int channels, inputs, times, slice, first_channel, selected;
    std::vector<int> calls;
    int lost; // call; -1: none
    bool delayed, all_summed;
};

//! Samples of an input: noise, and from some time on a carrier in the middle of the band.
std::vector<int8_t> samples_of(const summed_case& x, int64_t count, int input)
{
    std::normal_distribution<float> normal(0, 15);
    std::vector<int8_t> samples(2 * count);
    for (int64_t i = 0; i < count; i++) {
        const float carrier = i > count * (input + 1) / (x.inputs + 2)
                                  ? 60 / std::sqrt(float(x.channels))
                                  : 0;
        const float re =
            normal(random_bits) + (i % 4 == 0) * carrier - (i % 4 == 2) * carrier;
        const float im =
            normal(random_bits) + (i % 4 == 1) * carrier - (i % 4 == 3) * carrier;
        samples[2 * i] = int8_t(std::clamp(re, -127.f, 127.f));
        samples[2 * i + 1] = int8_t(std::clamp(im, -127.f, 127.f));
    }
    return samples;
}

//! Flags from sums that an F-engine makes: the same as from its voltages.
void check_summed(const summed_case& x, const flagging_methods& methods)
{
    const std::string what =
        "sums, " + std::to_string(x.channels) + " x " + std::to_string(x.inputs) + " x " +
        std::to_string(x.times) + "/" + std::to_string(x.slice) +
        (x.delayed ? ", delayed" : "") + (x.all_summed ? "" : ", not all summed");
    int spectra = 0;
    for (const int n : x.calls)
        spectra += n;
    const int frames = spectra / x.times;
    f_engine::parameters p{};
    p.filter.channels = x.channels;
    p.filter.ports = x.inputs;
    p.filter.inputs_per_port = 1;
    p.filter.input = p.filter.output = sample_type::sc8;
    p.filter.taps = 8;
    p.filter.prototype = prototype(x.channels, 8, "hann");
    p.spectra_per_frame = x.times;
    p.first_channel = x.first_channel;
    p.selected_channels = x.selected;
    const flagging::parameters q{ { x.selected, x.inputs, x.times, x.slice },
                                  sample_type::sc8,
                                  methods };
    const auto& l = q.layout;
    const int64_t margin = 64, samples = int64_t(spectra + 8) * x.channels + 2 * margin;
    std::vector<guarded> data;
    for (int i = 0; i < x.inputs; i++)
        data.emplace_back(samples_of(x, samples, i));
    std::vector<delay> delays;
    for (int i = 0; i < x.inputs; i++)
        delays.push_back({ 3 * i - 4, 0.1 * i, 1e-5, 0.3 * i, 1e-4 });
    const auto gpu = device::select("cuda");
    const auto own_stream = gpu.make_stream();
    stream& s = *own_stream;
    std::vector<int> there(size_t(frames) * l.inputs * l.slices(), l.spectra_per_slice);
    bool all_summed = true;
    const auto run = [&](bool sums) {
        const auto engine = f_engine::make(p, gpu);
        const auto flags = flagging::make(q, gpu);
        const guarded out(frames * q.frame_bytes()), masks(frames * l.item_bytes());
        if (x.delayed)
            engine->set_delays(delays.data(), s);
        if (sums)
            expect(engine->prepare_sums(x.slice) &&
                       flags->prepare_sums(3, x.channels, x.first_channel),
                   what + ", ready");
        int done = 0, flagged = 0;
        bool summed = true;
        for (size_t call = 0; call < x.calls.size(); call++) {
            std::vector<pfb::source> from(x.inputs);
            for (int i = 0; i < x.inputs; i++)
                from[i].samples = static_cast<const char*>(data[i].data()) +
                                  2 * (margin + int64_t(done) * x.channels);
            const int count = x.calls[call];
            if (int(call) == x.lost) {
                from[0].samples = nullptr;
                for (int t = done; t < done + count; t++)
                    there[(size_t(t / x.times) * l.inputs) * l.slices() +
                          t % x.times / x.slice] -= !sums;
            }
            char* at = static_cast<char*>(out.data()) + done / x.times * q.frame_bytes();
            if (!sums)
                engine->execute(from.data(), at, done % x.times, count, s);
            else if (!engine->execute_and_sum(
                         from.data(), at, done % x.times, count, flags->sums(), s))
                summed = all_summed = false;
            done += count;
            const int whole = done / x.times - flagged;
            if (whole == 0)
                continue;
            char* frame = static_cast<char*>(out.data()) + flagged * q.frame_bytes();
            auto* mask = static_cast<uint8_t*>(masks.data()) + flagged * l.item_bytes();
            const int* counts =
                x.lost < 0 ? nullptr
                           : there.data() + size_t(flagged) * l.inputs * l.slices();
            if (sums && summed)
                flags->execute_summed(frame, mask, whole, counts, s);
            else
                flags->execute(frame, frame, mask, whole, counts, s);
            summed = done % x.times == 0 || summed;
            flagged += whole;
        }
        s.synchronize();
        expect(out.untouched_around() && masks.untouched_around(), what + ", guards");
        const auto found = flags->found();
        return std::tuple(
            out.values<char>(), masks.values<uint8_t>(), found.inputs, found.channels);
    };
    const auto expected = run(false), made = run(true);
    size_t flagged = 0;
    for (const uint64_t n : std::get<2>(expected))
        flagged += n;
    std::printf("  %s: %zu of %zu cells flagged\n",
                what.c_str(),
                flagged,
                size_t(frames) * l.channels * l.inputs * l.slices());
    expect(all_summed == x.all_summed, what + ", calls summed");
    expect(std::get<1>(made) == std::get<1>(expected), what + ", masks");
    expect(std::get<0>(made) == std::get<0>(expected), what + ", voltages");
    expect(made == expected, what + ", counts");
    expect(flagged > 0, what + ", any flags");
}

void check_sums(bool quick)
{
    flagging_methods only, all;
    only.kurtosis_false_alarms = 0.01;
    only.bad_channels = { 1 };
    all = only;
    all.time_sigma = all.channel_sigma = 4;
    all.time_sum_sigma = all.channel_sum_sigma = 5;
    all.grown_slices = all.grown_channels = 1;
    const std::vector<int> whole{ 320, 960, 320 };
    const std::vector<int> parts{ 64, 8, 248, 400, 560, 320 };
    const std::vector<int> odd{ 320, 8, 12, 300, 320, 640 };
    for (const bool delayed : { false, true }) {
        for (const auto& methods : { only, all }) {
            check_summed({ 1024, 5, 320, 64, 0, 1024, whole, -1, delayed, true },
                         methods);
            check_summed({ 1024, 3, 320, 80, 17, 999, parts, 2, delayed, true }, methods);
        }
        check_summed({ 1024, 2, 320, 320, 0, 1024, odd, -1, delayed, false }, only);
        for (const int n : { 2048, 4096, 8192 })
            if (!quick || n == 4096)
                check_summed({ n, 2, 320, 160, 0, n, parts, 3, delayed, true }, only);
    }
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(
        argc,
        argv,
        "check_flagging: flags of a GPU against the host's",
        { { "flagging", "", check_flagging }, { "sums", "", check_sums } });
}
