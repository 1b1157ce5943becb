/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/pfb_tensor_calls.cuh"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {
namespace tensor {

template struct part<sample_type::s10, false, 8, 64, 128, 256, 512, 1024>;

} // namespace tensor
} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
