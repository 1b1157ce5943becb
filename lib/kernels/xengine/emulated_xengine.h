/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_EMULATED_XENGINE_H
#define INCLUDED_APERTURE_KERNELS_XENGINE_EMULATED_XENGINE_H

#include "kernels/xengine/xengine.h"

namespace gr::aperture::kernels::emulated {

//! The X-engine of the host, on memory of the emulated device.
std::unique_ptr<xengine> make_xengine(const xengine::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_EMULATED_XENGINE_H */
