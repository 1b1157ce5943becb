/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the pulse search on the CPU, in noise: 864 trials of 51.2 us of one beam. Prints
 * a table. OMP_NUM_THREADS says how many cores.
 *
 * bench_pulses_host [BEAMS [TRIALS [TIMES]]]
 *
 * A figure is the median of ten calls of one item after those that fill the window of the
 * baseline. `by processor time` is what the clock would show if no other program used the
 * machine.
 */

#include "kernels/common/makers.h"
#include "kernels/pulses/pulse_search.h"
#include "runtime/host_stream.h"
#include "timing.h"
#include <omp.h>
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
    constexpr double sample_time = 51.2e-6;
    const int beams = number(1, 1), trials = number(2, 864), times = number(3, 4096);
    const pulse_search::parameters p{ { beams, times, std::vector<double>(trials), {} },
                                      sample_time,
                                      4,
                                      4096,
                                      1.1,
                                      7,
                                      4096 };
    p.check();
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> item(p.trials.values());
    for (auto& x : item)
        x = normal(random);
    const auto kernel = host::make<pulse_search>(p);
    host_stream s;
    std::vector<double> clocks, processors;
    for (int call = -int(4 / sample_time / times); call < 10; call++) {
        const double begin = now(), spent = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        kernel->search(item.data(), s);
        if (call < 0)
            continue;
        processors.push_back((seconds_of(CLOCK_PROCESS_CPUTIME_ID) - spent) /
                             omp_get_max_threads());
        clocks.push_back(now() - begin);
    }
    const double clock = median(clocks), processor = median(processors);
    std::printf(
        "| threads | beams | trials | 10^6 values/s | of real time | by processor "
        "time |\n|---|---|---|---|---|---|\n"
        "| %d | %d | %d | %.1f | %.3f | %.3f |\n",
        omp_get_max_threads(),
        beams,
        trials,
        p.trials.values() / clock * 1e-6,
        clock / (times * sample_time),
        processor / (times * sample_time));
    return 0;
}
