/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_HALF_TILE_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_HALF_TILE_CUH

#include <cstdint>

namespace gr::aperture::kernels::cuda {

/*!
 * Multiplies: sums [16][8] += a [16][16] b [8][16] in half precision. Lane 4 g + t has,
 * in words 0 and 1 of b, the columns 2 t, 2 t + 1 and 8 more of row g.
 */
__device__ __forceinline__ void
multiply_add(float* sums, const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    const auto multiply = [sums](uint32_t low, uint32_t high, uint32_t b) {
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
            "{%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
            : "r"(low), "r"(high), "r"(b));
    };
    multiply(a[0], a[1], b0);
    multiply(a[2], a[3], b1);
#endif
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_HALF_TILE_CUH */
