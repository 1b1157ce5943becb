/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_PHASOR_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_PHASOR_CUH

namespace gr::aperture::kernels::cuda {

//! Returns exp(2 pi i cycles).
__device__ __forceinline__ float2 phasor(double cycles)
{
    float2 p;
    sincospif(2 * float(cycles - rint(cycles)), &p.y, &p.x);
    return p;
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_PHASOR_CUH */
