/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PULSES_BOXCARS_H
#define INCLUDED_APERTURE_KERNELS_PULSES_BOXCARS_H

#include <vector>

namespace gr::aperture::kernels {

/*!
 * A width with which pulses are searched for: `width` samples of a trial, which are
 * `units` sums of 2^level samples. Boxcars of level k end at multiples of 2^k samples, so
 * that their ends are less than a thirty-second of the width apart.
 */
struct boxcar {
    int width, level, units;
};

//! Largest number of sums in a boxcar. Wider ones are of the next level.
inline constexpr int most_units = 64;
//! Largest number of levels, and the widest boxcar of the last of them.
inline constexpr int most_levels = 7;
inline constexpr int widest_boxcar = most_units << (most_levels - 1);
//! The least and the largest ratio of neighbouring widths; sums allow no finer one.
inline constexpr double least_growth = 1.04, most_growth = 2;

/*!
 * Returns widths from 1 to `widest`, each at most `growth` times as wide as the one
 * before it, or one sample wider. The last one is `widest`, rounded down to a multiple of
 * its level's 2^level.
 */
std::vector<boxcar> boxcars(int widest, double growth);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_BOXCARS_H */
