/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_RATE_SEARCH_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_RATE_SEARCH_H

#include "signal/alignment/cross_spectra.h"
#include "signal/alignment/prepared_input.h"

namespace gr::aperture::kernels::alignment {

//! The result for an input that has a crystal of its own.
struct rate_peak {
    double strength, threshold, least_signal_to_noise, independent_lags;
    //! True if the best point of the search was followed through the samples.
    bool followed;
    alignment_line line;
    bool found() const { return strength > threshold && followed; }
    //! Returns whether the inputs are so faint that noise alone may hide them in some of
    //! the sections by which they are followed.
    bool faint() const;
};

/*!
 * Searches for an input that has a crystal of its own. Delay and phase change while
 * samples are compared, so that only a short section of the reference can be correlated
 * (1024 samples, less if the delay changes by more than half a sample within them), with
 * every lag of the other input and every difference of frequency. A section of 1024
 * samples stands out of 10^9 such places if its coherence is about a quarter; half leaves
 * room for lags and frequencies between those that are tried.
 *
 * From there the line is followed to the ends of what overlaps, by steps that double:
 * each one measures the rates twice as well, so that the next finds the phase within half
 * a cycle.
 *
 * \param most_phase_rate radians per sample
 * \param searches as in search_lags()
 */
rate_peak search_rates(const prepared_input& reference,
                       const prepared_input& other,
                       int64_t most_lag,
                       double most_delay_rate,
                       double most_phase_rate,
                       double false_alarms,
                       int searches);

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_RATE_SEARCH_H */
