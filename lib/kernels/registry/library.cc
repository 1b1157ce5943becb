/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/registry/cuda_kernels.h"

//! The one function that the library of CUDA kernels exports.
extern "C" __attribute__((visibility("default"))) const void* gnuradio_aperture_cuda()
{
    using namespace gr::aperture::kernels;
#define APERTURE_MAKER(kernel) cuda::make<kernel>,
    static const cuda_kernels all{ APERTURE_CUDA_VERSION,
                                   cuda::make<f_engine>,
                                   APERTURE_EACH_KERNEL(APERTURE_MAKER) };
#undef APERTURE_MAKER
    return &all;
}
