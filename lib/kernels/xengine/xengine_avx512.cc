/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled with -mavx512f -mavx512bw -mavx512vnni
#include "kernels/xengine/x86_tiles.h"

namespace gr::aperture::kernels::host {

// 2 x 4 products of two parts and five rows: 21 of 32 registers
// (constant, or the function that makes it would run on any processor)
constexpr tile_kernels avx512_tiles =
    x86_tile_kernels<x86_vectors<512>, 2, 4>("avx512 vnni");

} // namespace gr::aperture::kernels::host
