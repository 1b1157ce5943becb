/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED__H
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED__H

#include "kernels/pfb/fused/fused.h"

namespace gr::aperture::kernels::cuda {

//! The fused kernels for samples of a type: one for each number of channels. CMake makes
//! a file from fused/kernels.cu.in for each type.
template <sample_type Type>
std::vector<fused_kernel> fused_kernels_of();

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED__H */
