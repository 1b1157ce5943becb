/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/tensor/parts.h"
#include "kernels/pfb/tensor/tensor.h"
#include <utility>

namespace gr::aperture::kernels::cuda {

namespace {

//! By the part that serves p, if there is one.
template <class Parameters, class Base>
std::unique_ptr<Base>
make_any(const Parameters& p, int device, std::unique_ptr<Base> other)
{
    other = tensor::bytes::make(p, device, std::move(other));
    other = tensor::clusters::make(p, device, std::move(other));
    other = tensor::long_bytes::make(p, device, std::move(other));
    other = tensor::long_clusters::make(p, device, std::move(other));
    other = tensor::real_bytes::make(p, device, std::move(other));
    other = tensor::inverted_real_bytes::make(p, device, std::move(other));
    other = tensor::packed_10::make(p, device, std::move(other));
    other = tensor::inverted_packed_10::make(p, device, std::move(other));
    other = tensor::packed_12::make(p, device, std::move(other));
    other = tensor::inverted_packed_12::make(p, device, std::move(other));
    other = tensor::shorts::make(p, device, std::move(other));
    other = tensor::nibbles::make(p, device, std::move(other));
    return tensor::nibble_clusters::make(p, device, std::move(other));
}

} // namespace

std::unique_ptr<pfb>
make_tensor_pfb(const pfb::parameters& p, int device, std::unique_ptr<pfb> other)
{
    return make_any(p, device, std::move(other));
}

std::unique_ptr<f_engine> make_tensor_f_engine(const f_engine::parameters& p,
                                               int device,
                                               std::unique_ptr<f_engine> other)
{
    return make_any(p, device, std::move(other));
}

} // namespace gr::aperture::kernels::cuda
