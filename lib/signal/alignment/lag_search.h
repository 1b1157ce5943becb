/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_LAG_SEARCH_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_LAG_SEARCH_H

#include "signal/alignment/prepared_input.h"

namespace gr::aperture::kernels::alignment {

//! The highest point of a correlation, at multiples of half a sample.
struct lag_peak {
    double lag;      //!< samples by which the other input is to be delayed
    double strength; //!< see strength_of()
    double threshold;
    //! Value of coherence sqrt(N) at the threshold.
    double least_signal_to_noise;
    double independent_lags;
    bool found() const { return strength > threshold; }
};

/*!
 * Correlates two inputs on a common clock, sum_n r[n] conj(x[n - lag]), over all samples
 * that overlap at each lag. Between whole lags, at half samples, the correlation is taken
 * as well: a peak there would lose 4 dB at whole ones.
 *
 * The lags are divided into parts of up to 2^19, and the samples into sections of the
 * same length; products of their spectra are summed before they are transformed back
 * (overlap-save). The memory is bounded, whatever the number of samples: 64 bytes per
 * sample of most_lag, or a gigabyte, whichever is less.
 *
 * \param searches number of such searches among which the false alarms are divided
 */
lag_peak search_lags(const prepared_input& reference,
                     const prepared_input& other,
                     int64_t most_lag,
                     double false_alarms,
                     int searches);

//! Inputs are compared at lags at which at least so many samples of them overlap.
constexpr int64_t least_overlap = 64;

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_LAG_SEARCH_H */
