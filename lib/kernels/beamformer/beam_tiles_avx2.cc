/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled with -mavx2 -mfma
#include "kernels/beamformer/x86_beam_tiles.h"

namespace gr::aperture::kernels::host {

// 4 sums of two parts, voltages and a weight: 12 of 16 registers
// (constant, or the function that makes it would run on any processor)
constexpr beam_kernels avx2_beams = x86_beam_kernels<x86_vectors<256>, 4, 1>("avx2");

} // namespace gr::aperture::kernels::host
