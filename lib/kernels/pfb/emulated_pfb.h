/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_EMULATED_PFB_H
#define INCLUDED_APERTURE_KERNELS_PFB_EMULATED_PFB_H

#include "kernels/pfb/pfb.h"

namespace gr::aperture::kernels::emulated {

//! The filter bank of the host, on memory of the emulated device.
std::unique_ptr<pfb> make_pfb(const pfb::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_PFB_EMULATED_PFB_H */
