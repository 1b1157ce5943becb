/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_PREPARED_INPUT_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_PREPARED_INPUT_H

#include "signal/alignment/spectrum.h"
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels::alignment {

//! The samples of an input, and what every search in them needs to know.
class prepared_input
{
public:
    prepared_input(const cfloat* samples, int64_t count);

    //! Those given, times scale(), without_lines().
    const cfloat* samples() const { return d_samples; }
    int64_t count() const { return d_count; }
    //! A power of two, 1 unless squares of the samples would be too large or too small
    //! for floats.
    double scale() const { return d_scale; }
    //! False if a sample is NaN or infinite.
    bool finite() const { return d_finite; }
    //! Lines were taken out.
    bool without_lines() const { return !d_without_lines.empty(); }
    //! All samples are zero, or nothing but lines.
    bool zero() const { return d_energies.back() == 0; }

    //! Sum of |x|^2 of the samples before this one; between multiples of a stride,
    //! interpolated.
    double energy_before(double sample) const
    {
        const double at = sample * d_per_stride;
        const auto whole = int64_t(at);
        const double low = d_energies[whole];
        return low + (at - double(whole)) * (d_energies[whole + 1] - low);
    }

    /*!
     * Factors of the channels that make the spectrum flat where it is used, and zero
     * elsewhere. With a flat spectrum the correlation of noise at one lag says nothing of
     * the next, its peak is as narrow as the band allows, and what makes every lag
     * correlate (lines, see used_channels()) is gone.
     */
    const std::vector<float>& whitening() const { return d_whitening; }
    //! Mean power of a channel (in the order of transform's outputs), and of all of them.
    const std::vector<double>& spectrum() const { return d_spectrum; }
    double power() const { return d_power; }
    //! Share of the channels that are used.
    double used() const { return d_used; }

    //! Channels for so many samples: powers of two, at most 1024, with enough windows
    //! each.
    static int channels_for(int64_t count);

private:
    void scale_samples();
    void sum_energies();

    const cfloat* d_samples;
    std::vector<cfloat> d_scaled, d_without_lines;
    const int64_t d_count;
    double d_scale = 1;
    bool d_finite = true;
    double d_per_stride;
    std::vector<double> d_energies, d_spectrum;
    std::vector<float> d_whitening;
    double d_power = 0, d_used = 0;
};

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_PREPARED_INPUT_H */
