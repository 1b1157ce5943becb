/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_BASELINES_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_BASELINES_H

#include "signal/alignment/cross_spectra.h"
#include "signal/alignment/phase_line.h"
#include <vector>

namespace gr::aperture::kernels::alignment {

//! The corrections that align each of some inputs with one of them.
struct input_lines {
    std::vector<double> phase, delay, sigma_phase, sigma_delay; //!< [input]
    std::vector<double> gain;                                   //!< [input] amplitude
    std::vector<double> coherence;               //!< [input] with the reference
    double closure_phase = 0, closure_delay = 0; //!< rms closure of the baselines
};

/*!
 * Solves all baselines by least squares: the delay of baseline (a, b) is that of b
 * without that of a, and so is its phase. With a common signal of the fraction g^2 of the
 * power in each input, and q = g^2 / (1 - g^2), a baseline's phase counts with q_a q_b /
 * (1 + sum q): then the normal equations are the Fisher information of all inputs
 * together, and the standard deviations the Cramer-Rao bound.
 *
 * The fractions are those of the principal eigenvector of the matrix of coherences whose
 * diagonal is replaced by the eigenvector's own (an input's noise is in no other one);
 * with the inputs' powers they give the gains. Two inputs have only one coherence between
 * them: they are taken to have equal fractions.
 *
 * \param reference input whose phase and delay are zero and whose gain is 1
 * \param parents [input] the input through which each one was found, -1 for one of them;
 * the delay of a baseline between them is searched for within most_delay, and all others
 * are predicted from these
 */
input_lines solve_baselines(const cross_spectra& spectra,
                            int reference,
                            const std::vector<int>& parents,
                            double most_delay);

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_BASELINES_H */
