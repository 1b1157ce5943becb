/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_KERNELS_H
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_KERNELS_H

#include "kernels/pfb/fused/fused.h"

namespace gr::aperture::kernels::cuda {

// The table of fused kernels, in parts that are compiled side by side.
const std::vector<fused_kernel>& fused_byte_kernels();   //!< sc8, s8
const std::vector<fused_kernel>& fused_wide_kernels();   //!< fc32, f32, sc16, s16
const std::vector<fused_kernel>& fused_packed_kernels(); //!< sc4, s12, s10

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_KERNELS_H */
