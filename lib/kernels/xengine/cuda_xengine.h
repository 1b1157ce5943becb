/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_CUDA_XENGINE_H
#define INCLUDED_APERTURE_KERNELS_XENGINE_CUDA_XENGINE_H

#include "kernels/xengine/xengine.h"
#include <string>
#include <vector>

namespace gr::aperture::kernels::cuda {

/*!
 * The implementations that GPU `device` has for these parameters, the one to take first:
 * "row mma s8", "bulk mma s8", "wgmma s8" (of sc8, and of sc4 with 129 to 192 inputs),
 * "wgmma u8" (of sc4), "mma s8" and "turing mma s8", or "tf32" and "fp32".
 * \throws std::invalid_argument for parameters that none can do
 */
std::vector<std::string> xengine_implementations(const xengine::parameters& p,
                                                 int device);

//! \param implementation one of xengine_implementations(); empty: the first
std::unique_ptr<xengine> make_xengine(const xengine::parameters& p,
                                      int device,
                                      const std::string& implementation = "");

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_CUDA_XENGINE_H */
