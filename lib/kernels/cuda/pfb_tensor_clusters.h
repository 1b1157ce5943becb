/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_CLUSTERS_H
#define INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_CLUSTERS_H

#include "kernels/f_engine.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {
namespace tensor {

//! As make_tensor_pfb(), of 2048, 4096 or 8192 channels.
std::unique_ptr<pfb>
make_clustered(const pfb::parameters& p, int device, std::unique_ptr<pfb> other);
//! As make_tensor_f_engine(), of 2048, 4096 or 8192 channels.
std::unique_ptr<f_engine> make_clustered(const f_engine::parameters& p,
                                         int device,
                                         std::unique_ptr<f_engine> other);

} // namespace tensor
} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_CLUSTERS_H */
