/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PRODUCT_SELECT_H
#define INCLUDED_APERTURE_KERNELS_CUDA_PRODUCT_SELECT_H

#include "kernels/product_select.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

std::unique_ptr<product_select> make_product_select(const product_select::parameters& p,
                                                    int device);

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PRODUCT_SELECT_H */
