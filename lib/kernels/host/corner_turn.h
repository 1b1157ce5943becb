/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_HOST_CORNER_TURN_H
#define INCLUDED_APERTURE_KERNELS_HOST_CORNER_TURN_H

#include "kernels/corner_turn.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace host {

//! Tile by tile, so that what is read and what is written stay in the cache.
std::unique_ptr<corner_turn> make_corner_turn(const corner_turn::parameters& p);

} // namespace host
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_HOST_CORNER_TURN_H */
