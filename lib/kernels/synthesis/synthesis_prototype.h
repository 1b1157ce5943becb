/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_SYNTHESIS_SYNTHESIS_PROTOTYPE_H
#define INCLUDED_APERTURE_KERNELS_SYNTHESIS_SYNTHESIS_PROTOTYPE_H

#include <vector>

namespace gr::aperture::kernels {

//! A filter bank whose channels are synthesised, on the grid of the samples that are
//! made.
struct analysis_bank {
    std::vector<double> prototype; //!< [taps * points], sum of squares 1
    int points;                    //!< samples of a tap, even
    int taps;
    int hop; //!< samples from one spectrum to the next, at most `points`
};

/*!
 * Returns the prototype of a bank of another number of points: the same function of time,
 * read at t = (a + 1/2 + (points / length - 1) / 2) / points spacings^-1 from its middle,
 * a being counted from there, by polynomials through six coefficients.
 *
 * \param prototype of the F-engine, [taps * length]
 * \param length points of its transform
 */
std::vector<double> resampled_prototype(const std::vector<float>& prototype,
                                        int taps,
                                        int length,
                                        int points);

struct synthesis {
    std::vector<float> prototype; //!< [taps * points]
    //! Power of the error of white noise that was analysed and synthesised, in dB of its
    //! own.
    double error;
};

/*!
 * Designs the prototype g with which x[s] = sum_m sum_k g[s - mD] y_k[m] exp(2 pi i k s /
 * N) comes nearest to the samples that the bank was given, by least squares. Summed over
 * the N channels, samples x[s - rN] contribute N sum_m g[s - mD] h[s - rN - mD]: that has
 * to be 1 for r = 0, and 0 otherwise. Each residue s mod D has equations of its own. (The
 * dual window of Gabor frames; J. Wexler, S. Raz, Signal Processing 21 (1990) 207, for a
 * window of limited length.)
 *
 * \param taps of the synthesis prototype
 */
synthesis design_synthesis(const analysis_bank& bank, int taps);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_SYNTHESIS_SYNTHESIS_PROTOTYPE_H */
