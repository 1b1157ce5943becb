/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_FFTW_H
#define INCLUDED_APERTURE_KERNELS_COMMON_FFTW_H

#include <fftw3.h>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>

namespace gr::aperture::kernels::host {

/*!
 * Makes FFTW itself take the lock, as other blocks plan, too. Call before planning.
 *
 * Threads come before the first plan, as in GNU Radio: a planner to which they come later
 * has its parts in another order, and then FFTW refuses wisdom that other processes have
 * written, GNU Radio's and ours.
 */
inline void make_planner_thread_safe()
{
    static std::once_flag once;
    std::call_once(once, [] {
        fftwf_init_threads();
        fftwf_make_planner_thread_safe();
    });
}

struct plan_deleter {
    void operator()(fftwf_plan_s* plan) const { fftwf_destroy_plan(plan); }
};
using plan_ptr = std::unique_ptr<fftwf_plan_s, plan_deleter>;

struct fftw_deleter {
    void operator()(float* memory) const { fftwf_free(memory); }
};
//! Memory with the alignment that FFTW's vector code needs.
using fft_buffer = std::unique_ptr<float[], fftw_deleter>;

inline fft_buffer make_fft_buffer(size_t floats)
{
    auto* memory = fftwf_alloc_real(floats);
    if (!memory)
        throw std::bad_alloc();
    return fft_buffer(memory);
}

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_FFTW_H */
