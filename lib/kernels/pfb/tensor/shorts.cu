/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/tensor/calls.cuh"

namespace gr::aperture::kernels::cuda::tensor {

template struct part<sample_type::sc16, false, 8, 64, 128, 256, 512, 1024>;

} // namespace gr::aperture::kernels::cuda::tensor
