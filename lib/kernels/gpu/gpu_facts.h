/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_GPU_FACTS_H
#define INCLUDED_APERTURE_KERNELS_GPU_GPU_FACTS_H

#include "kernels/gpu/memory.h"

namespace gr::aperture::kernels::cuda {

//! Facts about the GPU that choose an implementation.
struct gpu_facts {
    int architecture; //!< 10 major + minor
    int multiprocessors;
};

inline gpu_facts facts_of(int device)
{
    int major, minor, multiprocessors;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
          "asking for the GPU's architecture");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
          "asking for the GPU's architecture");
    check(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "asking for the GPU's multiprocessors");
    return { 10 * major + minor, multiprocessors };
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_GPU_FACTS_H */
