/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_DETECTION_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_DETECTION_H

namespace gr::aperture::kernels::alignment {

/*!
 * Returns how far a correlation stands out of noise: for two inputs with nothing in
 * common, this is exponentially distributed with mean 1, whatever the number of samples.
 * (Their |coherence|^2 x has P(>x) = (1 - x)^(samples - 1) exactly, so that its logarithm
 * is exponential; for many samples that is samples x.)
 *
 * \param coherence_squared |sum a conj(b)|^2 / (sum |a|^2 sum |b|^2)
 * \param samples independent samples under the sums
 */
double strength_of(double coherence_squared, double samples);

//! Correlations of noise whose largest one is sought.
struct searched_lags {
    double lags; //!< number of lags in all searches together
    //! Distance of neighbouring lags in samples, and rms width of the correlated band in
    //! cycles per sample: neighbours have noise in common where their product is small.
    double spacing, rms_bandwidth;

    /*!
     * Returns how many independent lags would exceed a high strength as often as these. A
     * peak of correlated noise of the height s falls off as s (1 - (2 pi rms_bandwidth
     * lag)^2), and maxima above s come at the rate that Rice (1944) gives; those that
     * show between the points of the grid are lags erf(pi rms_bandwidth spacing sqrt(s)).
     */
    double independent(double strength) const;

    //! Returns P(the largest of them > strength) = 1 - (1 - exp(-strength))^independent.
    double false_alarms(double strength) const;

    //! Returns the strength at which false_alarms() has this value.
    double threshold(double false_alarms) const;
};

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_DETECTION_H */
