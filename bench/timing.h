/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BENCH_TIMING_H
#define INCLUDED_APERTURE_BENCH_TIMING_H

#include <gnuradio/aperture/device/device.h>
#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

/*
 * Functions that programs which time code on a CPU, or on any device, share.
 */
namespace gr::aperture {

/*!
 * Returns the seconds of a clock. CLOCK_PROCESS_CPUTIME_ID and CLOCK_THREAD_CPUTIME_ID
 * are times of processors, which other programs do not lengthen.
 */
inline double seconds_of(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

//! Returns the seconds of the clock on the wall, since any time.
inline double now() { return seconds_of(CLOCK_MONOTONIC); }

inline double median(std::vector<double> values)
{
    const auto middle = values.begin() + values.size() / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/*!
 * Returns the seconds of a call on a device, the median of 7 runs after a first call that
 * does not count. On the CPU they are those of the processors in all threads.
 */
inline double seconds_of(const device& d, stream& s, const std::function<void()>& call)
{
    const bool on_host = d.type() == device::kind::cpu;
    const clockid_t clock = on_host ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    const int calls = on_host ? 1 : 20; // a GPU has no pause between so many
    call();
    s.synchronize();
    std::vector<double> found;
    for (int run = 0; run < 7; run++) {
        const double begin = seconds_of(clock);
        for (int i = 0; i < calls; i++)
            call();
        s.synchronize();
        found.push_back((seconds_of(clock) - begin) / calls);
    }
    return median(found);
}

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_BENCH_TIMING_H */
