/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/registry/cuda_kernels.h"
#include <stdexcept>

//! Defined in programs that link the CUDA kernels themselves: tests and benchmarks.
extern "C" __attribute__((weak)) const void* gnuradio_aperture_cuda();

namespace gr::aperture::kernels {

const plugin_kind cuda_kernels_kind{ "libgnuradio-aperture-cuda.so",
                                     "gnuradio_aperture_cuda",
                                     "CUDA kernels",
                                     APERTURE_CUDA_VERSION };

const cuda_kernels& the_cuda_kernels()
{
    static const loaded_plugin loaded =
        find_plugin(cuda_kernels_kind, gnuradio_aperture_cuda);
    if (!loaded.offers)
        throw std::runtime_error(loaded.problem);
    return *static_cast<const cuda_kernels*>(loaded.offers);
}

} // namespace gr::aperture::kernels
