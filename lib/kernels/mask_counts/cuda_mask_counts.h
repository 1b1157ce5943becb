/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_MASK_COUNTS_CUDA_MASK_COUNTS_H
#define INCLUDED_APERTURE_KERNELS_MASK_COUNTS_CUDA_MASK_COUNTS_H

#include "kernels/mask_counts/mask_counts.h"

namespace gr::aperture::kernels::cuda {

//! Mask counts on a GPU of this index.
std::unique_ptr<mask_counts> make_mask_counts(const mask_counts::parameters& p,
                                              int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_MASK_COUNTS_CUDA_MASK_COUNTS_H */
