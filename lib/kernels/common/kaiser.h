/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_KAISER_H
#define INCLUDED_APERTURE_KERNELS_COMMON_KAISER_H

#include <algorithm>
#include <cmath>

/*!
 * \file
 * Kaiser's window, and his rules for its length and shape (J. F. Kaiser, "Nonrecursive
 * digital filter design using the I0-sinh window function", 1974).
 */
namespace gr::aperture::kernels {

//! Returns the window's shape for a stop band so many dB down, 21 or more.
inline double kaiser_beta(double attenuation)
{
    return attenuation > 50
               ? 0.1102 * (attenuation - 8.7)
               : 0.5842 * std::pow(attenuation - 21, 0.4) + 0.07886 * (attenuation - 21);
}

//! Returns the taps that such a filter needs.
//! \param transition from the edge of the pass band to that of the stop band, in cycles a
//! sample
inline double kaiser_length(double attenuation, double transition)
{
    return (attenuation - 7.95) / (14.36 * transition) + 1;
}

//! Returns the window at a place from -1 to 1; 1 in its middle.
inline double kaiser_window(double place, double beta)
{
    return std::cyl_bessel_i(0., beta * std::sqrt(std::max(0., 1 - place * place))) /
           std::cyl_bessel_i(0., beta);
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_KAISER_H */
