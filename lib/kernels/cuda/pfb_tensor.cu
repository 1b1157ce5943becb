/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/pfb_tensor.h"
#include "kernels/cuda/pfb_tensor_calls.cuh"
#include "kernels/cuda/pfb_tensor_clusters.h"
#include "kernels/cuda/pfb_tensor_real.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

std::unique_ptr<pfb>
make_tensor_pfb(const pfb::parameters& p, int device, std::unique_ptr<pfb> other)
{
    if (p.channels > tensor::points)
        return tensor::make_clustered(p, device, std::move(other));
    if (p.input == sample_type::s8)
        return tensor::make_real(p, device, std::move(other));
    return tensor::make<tensor::tensor_pfb, false, 64, 128, 256, 512, 1024>(
        p, p, device, std::move(other));
}

std::unique_ptr<f_engine> make_tensor_f_engine(const f_engine::parameters& p,
                                               int device,
                                               std::unique_ptr<f_engine> other)
{
    if (p.filter.channels > tensor::points)
        return tensor::make_clustered(p, device, std::move(other));
    if (p.filter.input == sample_type::s8)
        return tensor::make_real(p, device, std::move(other));
    return tensor::make<tensor::tensor_f_engine, false, 64, 128, 256, 512, 1024>(
        p.filter, p, device, std::move(other));
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
