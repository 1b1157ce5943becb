/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_FLAGGING_HOST_FLAGGING_H
#define INCLUDED_APERTURE_KERNELS_FLAGGING_HOST_FLAGGING_H

#include "kernels/flagging/flagging.h"

namespace gr::aperture::kernels::host {

//! Vector instructions by the compiler; one thread.
std::unique_ptr<flagging> make_flagging(const flagging::parameters& p);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_FLAGGING_HOST_FLAGGING_H */
