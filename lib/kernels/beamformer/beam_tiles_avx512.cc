/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled with -mavx512f -mavx512bw -mavx512vnni
#include "kernels/beamformer/x86_beam_tiles.h"

namespace gr::aperture::kernels::host {

// 6 x 2 sums of two parts, voltages and a weight: 28 and 30 of 32 registers
// (constant, or the function that makes it would run on any processor)
constexpr beam_kernels avx512_beams =
    x86_beam_kernels<x86_vectors<512>, 6, 2>("avx512 vnni");

} // namespace gr::aperture::kernels::host
