/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_FLAGGING_KURTOSIS_H
#define INCLUDED_APERTURE_KERNELS_FLAGGING_KURTOSIS_H

#include "kernels/common/types.h"
#include <vector>

/*!
 * \file
 * Theory of the spectral kurtosis of M spectra,
 *
 *     SK = (M + 1) / (M - 1) (M S2 / S1^2 - 1),  S1 = sum |x|^2,  S2 = sum |x|^4,
 *
 * which has the mean 1 where x is complex Gaussian noise, whatever its power: Nita and
 * Gary, MNRAS 406, L60 (2010).
 */
namespace gr::aperture::kernels {

//! Below this number of spectra there are no limits.
constexpr int least_kurtosis_spectra = 16;

//! Central moments of the spectral kurtosis of M spectra of noise. Its mean is 1.
struct kurtosis_moments {
    double second, third, fourth;
};
//! Returns the exact moments: Nita and Gary 2010, equations for N = 1 and d = 1.
kurtosis_moments moments_of_kurtosis(int spectra);

struct kurtosis_limits {
    double low, high;
};
/*!
 * Returns the limits between which the spectral kurtosis of noise lies except for a
 * fraction of cells, half of them below and half above: quantiles of the Pearson
 * distribution with the exact moments.
 * \param false_alarms above 0 and below 1
 */
kurtosis_limits limits_of_kurtosis(int spectra, double false_alarms);

//! Returns the limits for all numbers of spectra up to `most`; without bounds below
//! least_kurtosis_spectra. They are interpolated to 1e-4 of their distance from 1.
std::vector<kurtosis_limits> kurtosis_limit_table(int most, double false_alarms);

/*!
 * The effect of rounding and clamping on the spectral kurtosis of Gaussian noise, by the
 * mean power |x|^2 of the integers in square steps: from the moments of the quantiser.
 * Limits hold for 1 + (SK - 1 - bias) scale.
 *
 * Nodes lie at the powers whose floats have all bits below the upper four of the fraction
 * at zero; between them it is interpolated. Powers of noise that would be clamped more
 * often than one in three times have the bias of noise that is not.
 */
struct quantised_kurtosis {
    struct node {
        double bias, scale;
    };
    static constexpr int bits = 4;            //!< bits of the fraction of a float
    static constexpr int first_exponent = -3; //!< below 2^-3 nothing is judged
    std::vector<node> nodes;

    //! Returns the table of a type, computed once.
    //! \param type sc8 or sc4; others have one node, with no bias
    static const quantised_kurtosis& of(sample_type type);

private:
    explicit quantised_kurtosis(int limit);
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_FLAGGING_KURTOSIS_H */
