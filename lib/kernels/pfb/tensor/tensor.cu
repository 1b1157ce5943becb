/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/tensor/all_filter_banks.h"
#include "kernels/pfb/tensor/tensor.h"
#include <utility>

namespace gr::aperture::kernels::cuda {

std::unique_ptr<pfb>
make_tensor_pfb(const pfb::parameters& p, int device, std::unique_ptr<pfb> other)
{
    return tensor::all_filter_banks::make(p, device, std::move(other));
}

std::unique_ptr<f_engine> make_tensor_f_engine(const f_engine::parameters& p,
                                               int device,
                                               std::unique_ptr<f_engine> other)
{
    return tensor::all_filter_banks::make(p, device, std::move(other));
}

} // namespace gr::aperture::kernels::cuda
