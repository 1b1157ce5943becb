/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/pfb_tensor.h"
#include "kernels/cuda/pfb_tensor_calls.cuh"
#include "kernels/cuda/pfb_tensor_clusters.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace tensor {

namespace {

/*!
 * \tparam Made what serves p, for a number of channels \param parameters that it is made
 * with \param other is what comes back where nothing serves p
 */
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
    case 64:
        return std::make_unique<Made<64>>(parameters, device, std::move(other));
    case 128:
        return std::make_unique<Made<128>>(parameters, device, std::move(other));
    case 256:
        return std::make_unique<Made<256>>(parameters, device, std::move(other));
    case 512:
        return std::make_unique<Made<512>>(parameters, device, std::move(other));
    case 1024:
        return std::make_unique<Made<1024>>(parameters, device, std::move(other));
    default:
        return other;
    }
}

} // namespace

} // namespace tensor

std::unique_ptr<pfb>
make_tensor_pfb(const pfb::parameters& p, int device, std::unique_ptr<pfb> other)
{
    if (p.channels > tensor::points)
        return tensor::make_clustered(p, device, std::move(other));
    return tensor::make<tensor::tensor_pfb>(p, p, device, std::move(other));
}

std::unique_ptr<f_engine> make_tensor_f_engine(const f_engine::parameters& p,
                                               int device,
                                               std::unique_ptr<f_engine> other)
{
    if (p.filter.channels > tensor::points)
        return tensor::make_clustered(p, device, std::move(other));
    return tensor::make<tensor::tensor_f_engine>(p.filter, p, device, std::move(other));
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
