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

//! The samples of an input, prepared for all searches in them.
class prepared_input
{
public:
    prepared_input(const cfloat* samples, int64_t count);

    //! Returns the samples, times scale(), without_lines().
    const cfloat* samples() const { return d_samples; }
    int64_t count() const { return d_count; }
    //! Returns a power of two, 1 unless squares of the samples would not fit into floats.
    double scale() const { return d_scale; }
    //! Returns false if a sample is NaN or infinite.
    bool finite() const { return d_finite; }
    //! Returns whether lines were removed.
    bool without_lines() const { return !d_without_lines.empty(); }
    //! Returns whether all samples are zero, or lines alone.
    bool zero() const { return d_energies.back() == 0; }

    //! Returns the sum of |x|^2 of the samples before this one, interpolated between
    //! multiples of a stride.
    double energy_before(double sample) const
    {
        const double at = sample * d_per_stride;
        const auto whole = int64_t(at);
        const double low = d_energies[whole];
        return low + (at - double(whole)) * (d_energies[whole + 1] - low);
    }

    /*!
     * Returns factors of the channels that make the spectrum flat where it is used, and
     * zero elsewhere. With a flat spectrum the correlations of noise at neighbouring lags
     * are independent, its peak is as narrow as the band allows, and lines, which make
     * every lag correlate (see used_channels()), are gone.
     */
    const std::vector<float>& whitening() const { return d_whitening; }
    //! Returns the mean power of a channel (in transform's order), and of all of them.
    const std::vector<double>& spectrum() const { return d_spectrum; }
    double power() const { return d_power; }
    //! Returns the fraction of the channels that are used.
    double used() const { return d_used; }

    //! Returns the channels for so many samples: a power of two, at most 1024.
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
