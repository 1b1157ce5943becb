/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_CUFFT_CUDA_PFB_H
#define INCLUDED_APERTURE_KERNELS_PFB_CUFFT_CUDA_PFB_H

#include "kernels/pfb/pfb.h"

namespace gr::aperture::kernels::cuda {

//! On tensor cores where there is a kernel for the parameters, one fused kernel where the
//! table has one for the size, otherwise the plain way.
std::unique_ptr<pfb> make_pfb(const pfb::parameters& p, int device);

//! FIR in single precision, cuFFT, then gain and conversion: any size, and what the fused
//! kernels are compared with.
std::unique_ptr<pfb> make_plain_pfb(const pfb::parameters& p, int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_CUFFT_CUDA_PFB_H */
