/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/cuda.h"

//! Defined in programs that link runtime/cuda.cc themselves: tests and benchmarks.
extern "C" __attribute__((weak)) const void* gnuradio_aperture_device_cuda();

namespace gr::aperture::cuda {

const plugin_kind gpu_runtime_kind{ "libgnuradio-aperture-device-cuda.so",
                                    "gnuradio_aperture_device_cuda",
                                    "blocks for CUDA",
                                    APERTURE_DEVICE_CUDA_VERSION };

namespace {

const loaded_plugin& loaded()
{
    static const loaded_plugin plugin =
        find_plugin(gpu_runtime_kind, gnuradio_aperture_device_cuda);
    return plugin;
}

} // namespace

const gpu_runtime* the_gpu_runtime()
{
    return static_cast<const gpu_runtime*>(loaded().offers);
}

const gpus& find_gpus()
{
    static const gpus found =
        the_gpu_runtime() ? the_gpu_runtime()->find_gpus() : gpus{ 0, loaded().problem };
    return found;
}

} // namespace gr::aperture::cuda
