/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_INTEGER_TILE_CUH
#define INCLUDED_APERTURE_KERNELS_XENGINE_INTEGER_TILE_CUH

#include <cstdint>

namespace gr::aperture::kernels::cuda {

/*!
 * Products of 8 inputs a with 8 inputs b, real and imaginary parts in one instruction.
 *
 * With re and im in turn along the summed axis, the dot product of the rows of a and b is
 * the real part of sum x_a conj(x_b), and that of a times -i, (re, im) -> (im, -re), and
 * b is the imaginary part. The 16 rows of the first operand are the 8 inputs, then the
 * same 8 times -i; they differ in registers only.
 *
 * Lane 4 g + t holds two words of 4 bytes of row g of each operand. Any two words: the
 * order along the summed axis does not matter as long as it is that of all rows.
 * sums: [0], [1] re and [2], [3] im of product (a = g, b = 2 t) and (g, 2 t + 1)
 * Turing: with the instructions that it has, which later GPUs have, too.
 */
template <bool Turing = false>
__device__ __forceinline__ void
multiply_add(int (&sums)[4], const uint2& a, const uint2& times_minus_i, const uint2& b)
{
#if __CUDA_ARCH__ >= 800
    if (!Turing) {
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
            : "r"(a.x),
              "r"(times_minus_i.x),
              "r"(a.y),
              "r"(times_minus_i.y),
              "r"(b.x),
              "r"(b.y));
        return;
    }
#endif
    const auto multiply = [](int& left, int& right, uint32_t a, uint32_t b) {
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, "
            "%1};"
            : "+r"(left), "+r"(right)
            : "r"(a), "r"(b));
    };
    multiply(sums[0], sums[1], a.x, b.x);
    multiply(sums[0], sums[1], a.y, b.y);
    multiply(sums[2], sums[3], times_minus_i.x, b.x);
    multiply(sums[2], sums[3], times_minus_i.y, b.y);
}

//! Multiplies two complex numbers by -i: (re, im) -> (im, -re). -128 does not occur.
__device__ __forceinline__ uint32_t times_minus_i(uint32_t voltages)
{
    // The components re are in bytes 1 and 3; the 1 in byte 2 takes the borrow of byte 1.
    const uint32_t re = __byte_perm(voltages, 0, 0x2404);
    const uint32_t minus = 0x00010000u - re;
    return __byte_perm(voltages, minus, 0x7351);
}

/*!
 * Returns four samples of sc4 with -8 read as -7: (x & 7) + 7 has bit 3 set where bits 0
 * to 2 of a component are not all zero.
 */
__device__ __forceinline__ uint32_t clamped(uint32_t packed)
{
    const uint32_t others = (packed & 0x77777777) + 0x77777777;
    return packed + ((packed & ~others & 0x88888888) >> 3);
}

//! The same with the addition done by the unit that multiplies, for producers, whose
//! logic operations are what takes the time.
//! \param one 1, which the compiler is not to know
__device__ __forceinline__ uint32_t clamped(uint32_t packed, uint32_t one)
{
    uint32_t others;
    asm("mad.lo.u32 %0, %1, %2, 0x77777777;"
        : "=r"(others)
        : "r"(packed & 0x77777777), "r"(one));
    return packed + ((packed & ~others & 0x88888888) >> 3);
}

//! Return bytes that are 16 times re, or im, of four samples of sc4.
__device__ __forceinline__ uint32_t real_parts(uint32_t packed)
{
    return packed & 0xf0f0f0f0;
}
__device__ __forceinline__ uint32_t imaginary_parts(uint32_t packed)
{
    return packed << 4 & 0xf0f0f0f0;
}

//! Returns -re of four clamped samples of sc4, as real_parts() does: no byte borrows from
//! another, and 0x80 less the lower bits is right but for the sign.
__device__ __forceinline__ uint32_t negative_real_parts(uint32_t packed)
{
    return (0x80808080 - (packed & 0x70707070)) ^ (~packed & 0x80808080);
}

/*!
 * The part of a row that a lane has for one multiply_add(): 4 samples, out of 16 bytes
 * that hold twice as many of sc8 and four times as many of sc4 (Packed).
 */
template <bool Packed>
struct mma_operand;

template <>
struct mma_operand<false> {
    static constexpr int steps = 2;
    uint2 words;

    mma_operand() = default;
    __device__ __forceinline__ mma_operand(const uint4& v, int step)
        : words(step ? make_uint2(v.z, v.w) : make_uint2(v.x, v.y))
    {
    }
    __device__ __forceinline__ uint2 times_minus_i() const
    {
        return make_uint2(cuda::times_minus_i(words.x), cuda::times_minus_i(words.y));
    }
};

//! The real parts and the imaginary parts, each 16 times its value.
template <>
struct mma_operand<true> {
    static constexpr int steps = 4;
    uint2 words;
    uint32_t packed;

    mma_operand() = default;
    __device__ __forceinline__ mma_operand(const uint4& v, int step)
        : packed(clamped(step == 0   ? v.x
                         : step == 1 ? v.y
                         : step == 2 ? v.z
                                     : v.w))
    {
        words = make_uint2(real_parts(packed), imaginary_parts(packed));
    }
    __device__ __forceinline__ uint2 times_minus_i() const
    {
        return make_uint2(words.y, negative_real_parts(packed));
    }
};

//! Returns the value of a sum of products, whose factors are 16 times their value if they
//! come from sc4 (Packed).
template <bool Packed>
__device__ __forceinline__ int unscaled(int sum)
{
    return Packed ? sum >> 8 : sum;
}

// 64-bit atomic additions exist for unsigned integers only; in two's complement they are
// the same.
__device__ __forceinline__ void add_atomically(unsigned long long* sum, int value)
{
    atomicAdd(sum, (unsigned long long)(int64_t(value)));
}

//! Adds the int32 sums of a warp to those of its thread block in shared memory:
//! [tile][4][lane].
template <int Tiles>
__device__ __forceinline__ void add_to_block(int* block_sums, const int (&sums)[Tiles][4])
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int tile = 0; tile < Tiles; tile++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            atomicAdd(&block_sums[(tile * 4 + i) * 32 + lane], sums[tile][i]);
}

//! Returns the element of a tile that a thread takes when all threads of the block write
//! the tiles out: neighbours in a row of products, re and im in turn.
struct tile_element {
    int tile, a, b, part;

    __device__ explicit tile_element(int i)
        : tile(i / 128), a(i % 128 / 16), b(i % 16 / 2), part(i % 2)
    {
    }
    //! Returns where add_to_block() has put the element.
    __device__ int place() const
    {
        return (tile * 4 + part * 2 + b % 2) * 32 + a * 4 + b / 2;
    }
};

//! Returns the index of product (a, b), a >= b.
__device__ __forceinline__ int64_t product_index(int a, int b)
{
    return int64_t(a) * (a + 1) / 2 + b;
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_INTEGER_TILE_CUH */
