/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_HOST_PFB_H
#define INCLUDED_APERTURE_KERNELS_PFB_HOST_PFB_H

#include "kernels/pfb/pfb.h"

namespace gr::aperture::kernels::host {

//! FIR in single precision, FFTW, then gain and conversion, one input after the other.
std::unique_ptr<pfb> make_pfb(const pfb::parameters& p);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_PFB_HOST_PFB_H */
