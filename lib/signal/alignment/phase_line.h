/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_PHASE_LINE_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_PHASE_LINE_H

#include <array>
#include <complex>
#include <vector>

namespace gr::aperture::kernels::alignment {

//! Fisher information of (phase, delay): phase-phase, phase-delay, delay-delay.
using information = std::array<double, 3>;

//! The phase of a cross-spectrum as a line, phase - 2 pi f delay, f in cycles a sample.
struct phase_line {
    double phase = 0;     //!< radians
    double delay = 0;     //!< samples
    double coherence = 0; //!< mean over the channels used
    //! Height of the peak over noise: see strength_of().
    double strength = 0;
    information known{};

    //! Returns coherence sqrt(N / (1 - coherence^2)), N the samples of the band's width.
    double signal_to_noise() const;
};

/*!
 * Fits the most likely line to the coherences of channels: coherence c[k] of channel k
 * has noise of the variance (1 - g^2) / (2 n) on either side of the line, with g the
 * coherence and n the independent samples of a channel, so that a channel's phase counts
 * with 2 n g^2 / (1 - g^2).
 *
 * First the highest point of the correlation is found, interpolated eight times; phases
 * are fitted after it was removed, so that none has to be unwrapped. g is the mean of so
 * many neighbouring channels that it stands out of the noise.
 *
 * \param coherences [channel], in the order of transform's outputs
 * \param used [channel], 0 for channels that do not count
 * \param samples independent samples of a channel
 * \param most_delay the peak is searched for between -most_delay and most_delay; 0: the
 * delay is known to a tenth of a sample, and the phase is only fitted
 */
phase_line fit_phase_line(const std::vector<std::complex<double>>& coherences,
                          const std::vector<char>& used,
                          double samples,
                          double most_delay);

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_PHASE_LINE_H */
