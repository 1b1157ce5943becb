/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/measured_fft.h"
#include "kernels/common/wisdom_file.h"
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

namespace gr::aperture::kernels::host {

namespace {

//! Makes a plan with the flags of FFTW's program fftwf-wisdom, whose plans it finds.
plan_ptr plan(int points, bool real, unsigned flags)
{
    const auto in = make_fft_buffer(size_t(points) * (real ? 1 : 2));
    const auto out = make_fft_buffer(2 * size_t(points));
    auto* results = reinterpret_cast<fftwf_complex*>(out.get());
    return plan_ptr(real ? fftwf_plan_dft_r2c_1d(points, in.get(), results, flags)
                         : fftwf_plan_dft_1d(points,
                                             reinterpret_cast<fftwf_complex*>(in.get()),
                                             results,
                                             FFTW_FORWARD,
                                             flags));
}

//! Seconds for a plan. FFTW has a fast clock on x86. Debian's for ARM has none: it would
//! measure for half a minute, and what it has not measured by then it estimates; plans
//! that it estimates are not kept.
#if defined(__x86_64__)
constexpr double longest_planning = FFTW_NO_TIMELIMIT;
#else
constexpr double longest_planning = 2;
#endif

} // namespace

measured_fft::measured_fft(int points, bool real)
    : d_real(real), d_plan(plan(points, real, FFTW_MEASURE | FFTW_WISDOM_ONLY))
{
    if (d_plan)
        return;
    fftwf_set_timelimit(longest_planning);
    d_plan = plan(points, real, FFTW_MEASURE);
    fftwf_set_timelimit(FFTW_NO_TIMELIMIT);
    if (!d_plan)
        throw std::runtime_error("FFTW has no plan for " + std::to_string(points) +
                                 " points");
    wisdom_file::of_this_computer().save();
}

const measured_fft& measured_fft::of(int points, bool real)
{
    static std::mutex mutex;
    // blocks may outlive other static objects
    static auto& all = *new std::map<std::pair<int, bool>, std::unique_ptr<measured_fft>>;
    const std::lock_guard<std::mutex> guard(mutex);
    if (all.empty()) {
        make_planner_thread_safe();
        wisdom_file::of_this_computer().load();
    }
    // GNU Radio's transforms leave their number of threads set, for all later plans
    fftwf_plan_with_nthreads(1);
    auto& made = all[{ points, real }];
    if (!made)
        made.reset(new measured_fft(points, real));
    return *made;
}

} // namespace gr::aperture::kernels::host
