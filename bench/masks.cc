/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Measures the cost of counting by masks for the X-engine: the time of both kernels, for
 * sc8 in frames of 256 spectra and 1024 channels, with flags in none, in one of a
 * hundred, and in all channels.
 *
 * bench_masks [DEVICE [FRAMES]]
 *
 * FRAMES: frames in a call (default 4). On the CPU times are those of the processors,
 * which other programs do not lengthen; a figure is the median of 7 runs.
 */

#include "kernels/mask_counts/mask_counts.h"
#include "kernels/xengine/xengine.h"
#include "timing.h"
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

constexpr int channels = 1024, spectra = 256;

} // namespace

int main(int argc, char** argv)
{
    const auto d = device::select(argc > 1 ? argv[1] : "cpu");
    const int frames = argc > 2 ? std::atoi(argv[2]) : 4;
    const auto s = d.make_stream();
    std::mt19937 random(1);
    std::printf("%s %s, %d channels, frames of %d spectra, %d a call, sc8\n",
                d.name().c_str(),
                d.description().c_str(),
                channels,
                spectra,
                frames);
    std::printf("inputs slices flagged   X-engine     counts  counts / X-engine\n");
    for (int inputs : { 2, 16, 64, 256 }) {
        if (d.type() == device::kind::cpu && inputs > 64)
            break;
        const xengine::parameters x{ channels, inputs, spectra, sample_type::sc8 };
        const auto correlator = xengine::make(x, d);
        std::vector<int8_t> noise(size_t(2) * channels * inputs * spectra * frames);
        for (auto& v : noise)
            v = int8_t(random() % 255 - 127);
        const auto voltages = d.allocate(noise.size());
        s->copy(voltages.get(), noise.data(), noise.size(), direction::host_to_device);
        const double without = seconds_of(
            d, *s, [&] { correlator->accumulate(voltages.get(), frames, *s); });
        for (int slices : { 1, 8, 32 })
            for (int every : { 0, 100, 1 }) {
                const mask_layout m{ channels, inputs, spectra, spectra / slices };
                std::vector<uint8_t> masks(frames * m.item_bytes());
                for (int frame = 0; every && frame < frames; frame++)
                    for (int channel = 0; channel < channels; channel += every)
                        for (int input = 0; input < inputs; input++)
                            m.set(masks.data() + frame * m.item_bytes(),
                                  channel,
                                  input,
                                  int(random() % slices));
                const auto on_device = d.allocate(masks.size());
                s->copy(on_device.get(),
                        masks.data(),
                        masks.size(),
                        direction::host_to_device);
                const auto counts = mask_counts::make({ m, true }, d);
                const double with = seconds_of(
                    d, *s, [&] { counts->accumulate(on_device.get(), frames, {}, *s); });
                std::printf("%6d %6d %6.0f%% %7.1f us %7.1f us %8.2f%%\n",
                            inputs,
                            slices,
                            every ? 100. / every : 0.,
                            1e6 * without,
                            1e6 * with,
                            100 * with / without);
            }
    }
    return 0;
}
