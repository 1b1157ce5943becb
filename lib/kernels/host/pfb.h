/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_HOST_PFB_H
#define INCLUDED_APERTURE_KERNELS_HOST_PFB_H

#include "kernels/pfb.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace host {

//! FIR in single precision, FFTW, then gain and conversion, one input after the other.
std::unique_ptr<pfb> make_pfb(const pfb::parameters& p);

} // namespace host
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_HOST_PFB_H */
