/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_PARTS_H
#define INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_PARTS_H

#include "kernels/f_engine.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {
namespace tensor {

// make_tensor_pfb() and make_tensor_f_engine() in parts that are compiled by themselves:
// each comes back with `other` where it does not serve p.

//! 64 to 1024 channels from sc8
std::unique_ptr<pfb>
make_bytes(const pfb::parameters& p, int device, std::unique_ptr<pfb> other);
std::unique_ptr<f_engine>
make_bytes(const f_engine::parameters& p, int device, std::unique_ptr<f_engine> other);

//! 64 to 1024 channels from s8
std::unique_ptr<pfb>
make_real(const pfb::parameters& p, int device, std::unique_ptr<pfb> other);
std::unique_ptr<f_engine>
make_real(const f_engine::parameters& p, int device, std::unique_ptr<f_engine> other);

//! 64 to 1024 channels from sc4
std::unique_ptr<pfb>
make_nibbles(const pfb::parameters& p, int device, std::unique_ptr<pfb> other);
std::unique_ptr<f_engine>
make_nibbles(const f_engine::parameters& p, int device, std::unique_ptr<f_engine> other);

//! 2048 to 8192 channels from sc8
std::unique_ptr<pfb>
make_clustered(const pfb::parameters& p, int device, std::unique_ptr<pfb> other);
std::unique_ptr<f_engine> make_clustered(const f_engine::parameters& p,
                                         int device,
                                         std::unique_ptr<f_engine> other);

} // namespace tensor
} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_PARTS_H */
