/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CORNER_TURN_EMULATED_CORNER_TURN_H
#define INCLUDED_APERTURE_KERNELS_CORNER_TURN_EMULATED_CORNER_TURN_H

#include "kernels/corner_turn/corner_turn.h"

namespace gr::aperture::kernels::emulated {

//! The corner turn of the host, on memory of the emulated device.
std::unique_ptr<corner_turn> make_corner_turn(const corner_turn::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_CORNER_TURN_EMULATED_CORNER_TURN_H */
