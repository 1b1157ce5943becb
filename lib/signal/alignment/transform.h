/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_TRANSFORM_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_TRANSFORM_H

#include "kernels/common/fftw.h"
#include "kernels/common/types.h"

namespace gr::aperture::kernels::alignment {

//! Memory of complex samples, aligned for FFTW's vector code; values are not set.
class complex_buffer
{
public:
    explicit complex_buffer(size_t points) : d_memory(host::make_fft_buffer(2 * points))
    {
    }
    cfloat* data() { return reinterpret_cast<cfloat*>(d_memory.get()); }
    const cfloat* data() const { return reinterpret_cast<const cfloat*>(d_memory.get()); }
    cfloat& operator[](size_t i) { return data()[i]; }
    const cfloat& operator[](size_t i) const { return data()[i]; }

private:
    host::fft_buffer d_memory;
};

//! A complex transform in place, without a factor: both ways multiply by points.
class transform
{
public:
    //! \param sign -1 forward, sum_j x[j] exp(-2 pi i j k / points); 1 backward
    transform(size_t points, int sign)
    {
        host::make_planner_thread_safe();
        // FFTW's estimate reads no element, but the alignment
        complex_buffer example(points);
        auto* values = reinterpret_cast<fftwf_complex*>(example.data());
        d_plan.reset(fftwf_plan_dft_1d(int(points), values, values, sign, FFTW_ESTIMATE));
    }

    void execute(complex_buffer& values) const
    {
        auto* in_place = reinterpret_cast<fftwf_complex*>(values.data());
        fftwf_execute_dft(d_plan.get(), in_place, in_place);
    }

private:
    host::plan_ptr d_plan;
};

//! Returns the frequency of a transform's output in cycles per sample, -0.5 up to 0.5.
inline double frequency_of(size_t output, size_t points)
{
    return (output < points - points / 2 ? double(output)
                                         : double(output) - double(points)) /
           double(points);
}

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_TRANSFORM_H */
