/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_TRANSPOSITION_H
#define INCLUDED_APERTURE_FORMATS_TRANSPOSITION_H

#include <cstdint>

namespace gr::aperture::formats {

/*!
 * Transposes: out[c][r] = in[r][c], for elements of 1, 2, 4, 8 or 16 bytes.
 * \param in_stride, out_stride bytes from one row of each to the next
 */
void transpose(const void* in,
               int64_t in_stride,
               int rows,
               int columns,
               void* out,
               int64_t out_stride,
               int element_bytes);

//! Replaces -128 by -127, which is the lowest that later blocks expect. \returns how many
//! complex samples had one.
uint64_t clamp_lowest(int8_t* samples, int64_t count);

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_TRANSPOSITION_H */
