/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/pfb_tensor_calls.cuh"
#include "kernels/cuda/pfb_tensor_clusters.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {
namespace tensor {

std::unique_ptr<f_engine>
make_clustered(const f_engine::parameters& p, int device, std::unique_ptr<f_engine> other)
{
    if (!serves(p.filter, device))
        return other;
    const device_guard guard(device);
    switch (p.filter.channels) {
    case 2048:
        return std::make_unique<tensor_f_engine<2048>>(p, device, std::move(other));
    case 4096:
        return std::make_unique<tensor_f_engine<4096>>(p, device, std::move(other));
    case 8192:
        return std::make_unique<tensor_f_engine<8192>>(p, device, std::move(other));
    default:
        return other;
    }
}

} // namespace tensor
} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
