/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CORNER_TURN_HOST_CORNER_TURN_H
#define INCLUDED_APERTURE_KERNELS_CORNER_TURN_HOST_CORNER_TURN_H

#include "kernels/corner_turn/corner_turn.h"

namespace gr::aperture::kernels::host {

//! Tile by tile, so that what is read and what is written stay in the cache.
std::unique_ptr<corner_turn> make_corner_turn(const corner_turn::parameters& p);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_CORNER_TURN_HOST_CORNER_TURN_H */
