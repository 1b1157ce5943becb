/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_MEASURED_FFT_H
#define INCLUDED_APERTURE_KERNELS_COMMON_MEASURED_FFT_H

#include "kernels/common/fftw.h"

namespace gr::aperture::kernels::host {

/*!
 * A forward transform whose plan FFTW has chosen by measurement. There is one for each
 * length in a process, which all kernels share: plans differ in how they round, and a
 * signal has the same spectra whichever kernel makes them, and when. The choice is kept
 * for later processes (wisdom_file.h).
 */
class measured_fft
{
public:
    /*!
     * Returns the transform. It is measured where that was not done before, which takes
     * 0.06 s for 1024 points on a PC, and up to 2 s on ARM, each time for all but short
     * ones.
     *
     * \param points points of the transform
     * \param real whether the samples are real, with points / 2 + 1 results
     * \throws std::runtime_error if FFTW has no plan
     */
    static const measured_fft& of(int points, bool real);

    //! Transforms. `in` and `out` do not overlap, and are aligned(). For any thread.
    void execute(float* in, float* out) const
    {
        auto* results = reinterpret_cast<fftwf_complex*>(out);
        if (d_real)
            fftwf_execute_dft_r2c(d_plan.get(), in, results);
        else
            fftwf_execute_dft(
                d_plan.get(), reinterpret_cast<fftwf_complex*>(in), results);
    }

    //! Returns whether memory is aligned as that of make_fft_buffer() is.
    static bool aligned(const void* memory)
    {
        return fftwf_alignment_of(static_cast<float*>(const_cast<void*>(memory))) == 0;
    }

private:
    measured_fft(int points, bool real);

    bool d_real;
    plan_ptr d_plan;
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_MEASURED_FFT_H */
