/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PHASOR_CUH
#define INCLUDED_APERTURE_KERNELS_CUDA_PHASOR_CUH

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

//! exp(2 pi i turns)
__device__ __forceinline__ float2 phasor(double turns)
{
    float2 p;
    sincospif(2 * float(turns - rint(turns)), &p.y, &p.x);
    return p;
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PHASOR_CUH */
