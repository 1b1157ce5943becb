/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_REAL_H
#define INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_REAL_H

#include "kernels/f_engine.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {
namespace tensor {

//! As make_tensor_pfb(), from s8.
std::unique_ptr<pfb>
make_real(const pfb::parameters& p, int device, std::unique_ptr<pfb> other);
//! As make_tensor_f_engine(), from s8.
std::unique_ptr<f_engine>
make_real(const f_engine::parameters& p, int device, std::unique_ptr<f_engine> other);

} // namespace tensor
} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_REAL_H */
