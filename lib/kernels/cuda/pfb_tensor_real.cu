/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/pfb_tensor_calls.cuh"
#include "kernels/cuda/pfb_tensor_parts.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {
namespace tensor {

std::unique_ptr<pfb>
make_real(const pfb::parameters& p, int device, std::unique_ptr<pfb> other)
{
    return make<tensor_pfb, samples::s8, 64, 128, 256, 512, 1024>(
        p, p, device, std::move(other));
}

std::unique_ptr<f_engine>
make_real(const f_engine::parameters& p, int device, std::unique_ptr<f_engine> other)
{
    return make<tensor_f_engine, samples::s8, 64, 128, 256, 512, 1024>(
        p.filter, p, device, std::move(other));
}

} // namespace tensor
} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
