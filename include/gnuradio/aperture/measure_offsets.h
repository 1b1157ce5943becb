/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_MEASURE_OFFSETS_H
#define INCLUDED_APERTURE_MEASURE_OFFSETS_H

#include <gnuradio/aperture/api.h>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::aperture {

//! Parameters of measure_offsets().
struct offset_search {
    //! Lags from -most_lag to most_lag samples are searched; 0: half of the samples.
    int64_t most_lag = 0;
    //! The probability that an input without a common signal is found nevertheless.
    double false_alarms = 1e-4;
    //! The input against which the others are measured; -1: the one with the best S/N.
    int reference = -1;
    //! The largest delay rate (samples per sample; one ppm is 1e-6) and the largest phase
    //! rate (radians per sample; 2 pi ppm 1e-6 rx_freq/rate) between any two receivers on
    //! separate crystals. Both are 0 for receivers on a common clock.
    double most_delay_rate = 0;
    double most_phase_rate = 0;

    bool separate_clocks() const { return most_delay_rate != 0 || most_phase_rate != 0; }
    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    void check(int inputs, int64_t samples) const;
};

/*!
 * The correction that aligns an input x with the reference r: for sample n of r, with
 * m = n - time,
 *
 *     r[n] ~ gain exp(i (phase + phase_rate m)) x[n - lag - fraction - delay_rate m].
 *
 * The phase is that of the middle of the band, frequency 0 at baseband.
 */
struct receiver_offset {
    //! True if the offset was found; otherwise all members below mean nothing.
    bool found = false;
    //! The reason why it was not found; empty if it was.
    std::string reason;
    //! Delay in whole samples, and the rest of it, -0.5 to 0.5 samples.
    int64_t lag = 0;
    double fraction = 0;
    //! Phase in radians, -pi to pi.
    double phase = 0;
    //! Factor of the amplitude, without unit.
    double gain = 1;
    //! Rates in samples per sample and in radians per sample; 0 on a common clock.
    double delay_rate = 0, phase_rate = 0;
    //! Sample of the reference, counted from the first one, at which delay and phase
    //! hold: the middle of the samples that were compared.
    double time = 0;
    //! Fraction of the amplitude that the input has in common with the reference, 0 to 1.
    double coherence = 0;
    //! coherence sqrt(N / (1 - coherence^2)) for two inputs and N samples (of the band's
    //! width), and 1/(sqrt(2) sigma_phase) on any number of baselines.
    double signal_to_noise = 0;
    //! Standard deviations by the Cramer-Rao bound, in samples, radians, samples per
    //! sample and radians per sample.
    double sigma_delay = 0, sigma_phase = 0, sigma_delay_rate = 0, sigma_phase_rate = 0;
    //! Rms deviation, in radians and samples, of phase and delay from straight lines in
    //! time, beyond the noise, for receivers on separate crystals (the bounds do not
    //! contain it).
    double phase_wander = 0, delay_wander = 0;
};

//! The offsets of some inputs.
struct receiver_offsets {
    //! Index of the input against which all others were measured; -1: nothing was found.
    int reference = -1;
    //! One for each input; that of the reference itself is zero.
    std::vector<receiver_offset> inputs;
    //! The coherence sqrt(N) from which on an input is found.
    double threshold = 0;
    //! Number of independent lags that were searched on each baseline.
    double lags = 0;
    //! Rms difference, in samples and radians, of the offsets of baselines (inputs a, b)
    //! from the differences of their inputs' offsets; 0 for two inputs, which have only
    //! one baseline.
    double closure_delay = 0, closure_phase = 0;
};

/*!
 * Measures the offsets of receivers from the signal that they have in common, a noise
 * source or the sky: the lag by correlation over all lags, with a threshold from the
 * extreme values of noise; then delay and phase by weighted straight lines through the
 * phases of the cross-spectra of all pairs, and least squares over them.
 *
 * \param samples [input][sample]
 * \param count samples of each input
 * \throws std::invalid_argument for parameters, or samples that are not finite
 */
APERTURE_API receiver_offsets
measure_offsets(const std::vector<const std::complex<float>*>& samples,
                int64_t count,
                const offset_search& search);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_MEASURE_OFFSETS_H */
