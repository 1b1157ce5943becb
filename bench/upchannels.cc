/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the kernel of upchanneliser, one port, beside a copy of as many bytes as it reads
 * and writes on the same device, in one run. Prints a table.
 *
 * bench_upchannels [DEVICE] [CHANNELS] [INPUTS]
 *
 * DEVICE: cpu (default) or cuda; CHANNELS: coarse ones of each of INPUTS (defaults: 1024
 * and 2). A figure is the median of calls in half a second, after two that do not count.
 * Rates are Msample/s, coarse voltages of all inputs and channels together.
 */

#include "kernels/pfb/pfb.h"
#include "kernels/pfb/prototype.h"
#include "timing.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

using namespace gr::aperture;

namespace {

double seconds_of(stream& s, const std::function<void()>& call)
{
    std::vector<double> all;
    const double begin = now();
    for (int i = 0; i < 7 || now() - begin < .5; i++) {
        const double start = now();
        call();
        s.synchronize();
        if (i >= 2)
            all.push_back(now() - start);
    }
    return median(all);
}

} // namespace

int main(int argc, char** argv)
{
    const auto d = device::select(argc > 1 ? argv[1] : "cpu");
    const int channels = argc > 2 ? std::atoi(argv[2]) : 1024;
    const int inputs = argc > 3 ? std::atoi(argv[3]) : 2;
    const auto s = d.make_stream();
    std::printf("%s %s, %d channels of %d inputs, 8 taps\n\n",
                d.name().c_str(),
                d.description().c_str(),
                channels,
                inputs);
    std::printf(
        "| type | fine | of points | implementation | Msample/s | GB/s | copy, GB/s "
        "| of the copy |\n|---|---|---|---|---|---|---|---|\n");
    for (const auto& [type, fine, points] : { std::tuple(sample_type::fc32, 16, 16),
                                              std::tuple(sample_type::fc32, 27, 32),
                                              std::tuple(sample_type::fc32, 128, 128),
                                              std::tuple(sample_type::fc32, 864, 1024),
                                              std::tuple(sample_type::sc8, 27, 32),
                                              std::tuple(sample_type::sc8, 128, 128) }) {
        kernels::pfb::parameters p{ points, 8,
                                    1,      inputs * channels,
                                    type,   type,
                                    false,  kernels::prototype(points, 8, "hann") };
        p.kept = fine == points ? 0 : fine;
        p.first_kept = points / 2 - fine / 2;
        const auto kernel = kernels::pfb::make(p, d);
        const std::vector<cfloat> gains(size_t(p.inputs()) * p.kept_channels(), .9f);
        kernel->set_gains(gains.data(), *s);
        const size_t sample = size_of(type) * size_t(p.inputs());
        const size_t spectra = std::max<size_t>(
            16, (d.own_memory() ? 256 << 20 : 8 << 20) / (sample * points));
        const size_t in = size_t(p.span(int64_t(spectra))) * sample;
        const size_t out = spectra * p.kept_channels() * sample;
        const auto from = d.allocate(in), to = d.allocate(std::max(in, out));
        std::vector<char> noise(in);
        std::mt19937 random;
        for (auto& byte : noise)
            byte = char(random() % 64); // floats of such bytes are small
        s->copy(from.get(), noise.data(), in, direction::host_to_device);
        s->synchronize();
        const kernels::pfb::source source{ from.get(), 0 };
        void* const target = to.get();
        const double time =
            seconds_of(*s, [&] { kernel->execute(&source, &target, spectra, *s); });
        const size_t bytes = spectra * points * sample + out;
        const double copy = seconds_of(*s, [&] {
            s->copy(to.get(), from.get(), bytes / 2, direction::within_device);
        });
        std::printf("| %s | %d | %d | %s | %.0f | %.2f | %.2f | %.0f %% |\n",
                    name_of(type).c_str(),
                    fine,
                    points,
                    kernel->implementation().c_str(),
                    1e-6 * double(spectra) * points * p.inputs() / time,
                    1e-9 * double(bytes) / time,
                    1e-9 * double(bytes) / copy,
                    100 * copy / time);
    }
}
