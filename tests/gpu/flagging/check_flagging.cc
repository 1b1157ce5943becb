/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares flags of the GPU with the host's: the same bits of integers; of fc32, whose
 * sums are rounded in another order, at most one cell in 2000 may differ. Needs no GNU
 * Radio.
 */

#include "../check_cuda.h"
#include "kernels/flagging/cuda_flagging.h"
#include "kernels/flagging/host_flagging.h"
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
    const auto host = host::make_flagging(p);
    const guarded from(in), to(in.size()), masks(mask_bytes);
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    delay_default_stream();
    const auto kernel = cuda::make_flagging(p, 0);
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

} // namespace

int main(int argc, char** argv)
{
    return check_parts(argc,
                       argv,
                       "check_flagging: flags of a GPU against the host's",
                       { { "flagging", "", check_flagging } });
}
