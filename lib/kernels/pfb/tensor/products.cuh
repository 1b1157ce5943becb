/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_PRODUCTS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_PRODUCTS_CUH

#include "kernels/gpu/wgmma.cuh"
#include "kernels/gpu/wgmma_half.cuh"
#include "kernels/pfb/tensor/tensor.cuh"
#include "kernels/pfb/tensor/words.cuh"

namespace gr::aperture::kernels::cuda::tensor {

// The two matrix products of the transform. Lane 4 g + t of warp w of a consumer has the
// channels with c = 8 w + g. In the first product, row 16 w + g is the real and row 16 w
// + g + 8 the imaginary part of this c, and a column is a row of filtered samples. In the
// second product these two rows are this c of the first and of the second spectrum of a
// pair, and column 8 i + 2 t (+ 1) is the real (imaginary) part of element e = 4 i + t.

//! Starts a k16 step of the first product: adds the product of a matrix [64][16] and
//! filtered samples [64][16], both in shared memory, to the sums [64][64]; as
//! wgmma_half() otherwise.
__device__ __forceinline__ void
multiply_shared(float (&s)[32], uint64_t a, uint64_t b, bool add)
{
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
                 "%30, %31}, %32, %33, add, 1, 1, 0, 0;\n}"
                 : "+f"(s[0]),
                   "+f"(s[1]),
                   "+f"(s[2]),
                   "+f"(s[3]),
                   "+f"(s[4]),
                   "+f"(s[5]),
                   "+f"(s[6]),
                   "+f"(s[7]),
                   "+f"(s[8]),
                   "+f"(s[9]),
                   "+f"(s[10]),
                   "+f"(s[11]),
                   "+f"(s[12]),
                   "+f"(s[13]),
                   "+f"(s[14]),
                   "+f"(s[15]),
                   "+f"(s[16]),
                   "+f"(s[17]),
                   "+f"(s[18]),
                   "+f"(s[19]),
                   "+f"(s[20]),
                   "+f"(s[21]),
                   "+f"(s[22]),
                   "+f"(s[23]),
                   "+f"(s[24]),
                   "+f"(s[25]),
                   "+f"(s[26]),
                   "+f"(s[27]),
                   "+f"(s[28]),
                   "+f"(s[29]),
                   "+f"(s[30]),
                   "+f"(s[31])
                 : "l"(a), "l"(b), "r"(int(add)));
}

using rows = rows_matrix<8 * matrix_row>;
//! Bytes from the columns of one k16 step to those of the next.
constexpr int step_bytes = 16 * int(sizeof(__half));

//! A thread's part of the second product's operand, in half precision: [k16 step][word].
using second_operand = uint32_t[steps][4];

//! Multiplies the sums of a k16 step by their twiddles and rounds them to half precision,
//! which makes them operand of the second product. w has the twiddles of columns 2 t and
//! 2 t + 1.
__device__ __forceinline__ void
twiddle(second_operand& operand, const float (&sums)[32], int step, float4 w)
{
#pragma unroll
    for (int spectrum = 0; spectrum < pair; spectrum++) {
        const float* s = sums + 16 * spectrum + 4 * step;
        const float2 a = times(float2{ s[0], s[2] }, float2{ w.x, w.y });
        const float2 b = times(float2{ s[1], s[3] }, float2{ w.z, w.w });
        operand[step][spectrum] = halves(a.x, a.y);
        operand[step][2 + spectrum] = halves(b.x, b.y);
    }
}

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_PRODUCTS_CUH */
