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
 * Returns the implementations that GPU `device` has for these parameters, the fastest
 * first: of sc8 and sc4 "row mma s8", "bulk mma s8", "wgmma s8" (sc8), "wgmma u8" (sc4),
 * "mma s8" and "turing mma s8"; of fc32 "tf32" and "fp32".
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
