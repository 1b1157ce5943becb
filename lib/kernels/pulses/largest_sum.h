/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PULSES_LARGEST_SUM_H
#define INCLUDED_APERTURE_KERNELS_PULSES_LARGEST_SUM_H

namespace gr::aperture::kernels::host {

//! Ends of boxcars that are examined together.
inline constexpr int segment_ends = 32;

/*!
 * Returns the largest (sums[i] - sums[i - units[w]]) scales[w] over all i below `count`,
 * which is at most segment_ends, and all w below `widths`. sums[-64] to sums[31] can be
 * read.
 */
float largest_sum(
    const float* sums, int count, const int* units, const float* scales, int widths);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_LARGEST_SUM_H */
