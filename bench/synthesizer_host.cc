/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the synthesizer on the CPU: channels oversampled by 32/27 with 24 taps, to
 * complex samples and to real ones of the same band. Prints a table. OMP_NUM_THREADS says
 * how many cores.
 *
 * bench_synthesizer_host [BEAMS [CHANNELS]]
 *
 * A figure is the median of seven frames after two. `by processor time` is what the clock
 * would show if no other program used the machine.
 */

#include "kernels/common/makers.h"
#include "kernels/pfb/prototype.h"
#include "kernels/synthesis/synthesis_prototype.h"
#include "kernels/synthesis/synthesizer.h"
#include "runtime/host_stream.h"
#include "timing.h"
#include <omp.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

int main(int argc, char** argv)
{
    const auto number = [&](int i, int otherwise) {
        return argc > i ? std::atoi(argv[i]) : otherwise;
    };
    synthesizer::parameters p;
    constexpr int taps = 24, more = 28;
    p.beams = number(1, 2);
    p.channels = p.points = number(2, 1024);
    p.hop = p.points / 32 * 27;
    p.lead = (more - taps) * p.points / 2;
    p.spectra_per_frame = p.most_spectra = std::max(16, (1 << 20) / p.points);
    p.prototype = design_synthesis(
                      { resampled_prototype(
                            prototype(p.points, taps, "hann"), taps, p.points, p.points),
                        p.points,
                        taps,
                        p.hop },
                      more)
                      .prototype;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> frame(p.frame_bytes() / sizeof(float));
    for (auto& x : frame)
        x = normal(random);
    std::printf("| threads | beams | channels | output | 10^6 samples of the channels a "
                "second | by processor time |\n|---|---|---|---|---|---|\n");
    for (const bool real : { false, true }) {
        if (real)
            p.filter = fractional_filter::of(0.475, 0.525, 1);
        p.check();
        const auto kernel = host::make<synthesizer>(p);
        host_stream s;
        const int64_t samples = int64_t(p.spectra_per_frame) * p.hop;
        std::vector<char> out(2 * samples * p.beams * sizeof(float));
        std::vector<double> clocks, processors;
        for (int call = -2; call < 7; call++) {
            const double begin = now(), spent = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
            const int keep = call == -2 ? 0 : int(p.most_kept());
            kernel->add(frame.data(),
                        0,
                        p.spectra_per_frame,
                        int64_t(call + 2) * p.spectra_per_frame,
                        { 0, real ? 0.25 : 0, 0 },
                        keep,
                        s);
            output_places places{ real ? p.filter.taps / 2 : 0, 0 };
            places.steps = real ? 2 : 1;
            kernel->write(out.data(),
                          real ? 2 * (samples - p.filter.taps) : samples,
                          places,
                          0,
                          {},
                          s);
            if (call < 0)
                continue;
            processors.push_back((seconds_of(CLOCK_PROCESS_CPUTIME_ID) - spent) /
                                 omp_get_max_threads());
            clocks.push_back(now() - begin);
        }
        const auto rate = [&](const std::vector<double>& v) {
            return double(samples) * p.beams / median(v) / 1e6;
        };
        std::printf("| %d | %d | %d | %s | %.1f | %.1f |\n",
                    omp_get_max_threads(),
                    p.beams,
                    p.channels,
                    real ? "f32" : "fc32",
                    rate(clocks),
                    rate(processors));
    }
}
