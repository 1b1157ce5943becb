/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CORNER_TURN_CUDA_CORNER_TURN_H
#define INCLUDED_APERTURE_KERNELS_CORNER_TURN_CUDA_CORNER_TURN_H

#include "kernels/corner_turn/corner_turn.h"

namespace gr::aperture::kernels::cuda {

//! Squares of channels and times in registers.
std::unique_ptr<corner_turn> make_corner_turn(const corner_turn::parameters& p,
                                              int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_CORNER_TURN_CUDA_CORNER_TURN_H */
