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
 * A width that a pulse is looked for with: `width` values of a trial, which are `units`
 * sums of 2^level values. Boxcars of level k end at multiples of 2^k values, so that
 * those ends are less than a thirty-second of the width apart.
 */
struct boxcar {
    int width, level, units;
};

//! Sums that a boxcar has at most. Wider ones are of the next level.
inline constexpr int most_units = 64;
//! Levels that there are at most, and the widest boxcar of the last of them.
inline constexpr int most_levels = 7;
inline constexpr int widest_boxcar = most_units << (most_levels - 1);
//! The least and the largest ratio of neighbouring widths that can be asked for. Sums of
//! a level allow no finer one.
inline constexpr double least_growth = 1.04, most_growth = 2;

/*!
 * Widths from 1 to `widest`, each at most `growth` times as wide as the one before it,
 * or one value wider. The last one is `widest`, rounded down to a multiple of its
 * level's 2^level.
 */
std::vector<boxcar> boxcars(int widest, double growth);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_BOXCARS_H */
