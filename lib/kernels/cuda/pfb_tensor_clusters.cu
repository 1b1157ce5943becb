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

namespace {

//! As tensor::make() of fewer channels.
template <template <int> class Made, class Parameters, class Base>
std::unique_ptr<Base> make(const pfb::parameters& p,
                           const Parameters& parameters,
                           int device,
                           std::unique_ptr<Base> other)
{
    if (!serves(p, device))
        return other;
    const device_guard guard(device);
    switch (p.channels) {
    case 2048:
        return std::make_unique<Made<2048>>(parameters, device, std::move(other));
    case 4096:
        return std::make_unique<Made<4096>>(parameters, device, std::move(other));
    case 8192:
        return std::make_unique<Made<8192>>(parameters, device, std::move(other));
    default:
        return other;
    }
}

} // namespace

std::unique_ptr<pfb>
make_clustered(const pfb::parameters& p, int device, std::unique_ptr<pfb> other)
{
    return make<tensor_pfb>(p, p, device, std::move(other));
}

std::unique_ptr<f_engine>
make_clustered(const f_engine::parameters& p, int device, std::unique_ptr<f_engine> other)
{
    return make<tensor_f_engine>(p.filter, p, device, std::move(other));
}

} // namespace tensor
} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
