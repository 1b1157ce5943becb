/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_FLAGGING_EMULATED_FLAGGING_H
#define INCLUDED_APERTURE_KERNELS_FLAGGING_EMULATED_FLAGGING_H

#include "kernels/flagging/flagging.h"

namespace gr::aperture::kernels::emulated {

//! The flagging of the host, on memory of the emulated device.
std::unique_ptr<flagging> make_flagging(const flagging::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_FLAGGING_EMULATED_FLAGGING_H */
