/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled with -mavx2 -mfma
#include "kernels/xengine/x86_tiles.h"

namespace gr::aperture::kernels::host {

// 2 x 2 products of two parts and four rows: 13 of 16 registers
// (constant, or the function that makes it would run on any processor)
constexpr tile_kernels avx2_tiles = x86_tile_kernels<x86_vectors<256>, 2, 2>("avx2");

} // namespace gr::aperture::kernels::host
