/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_SUMS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_SUMS_CUH

#include "kernels/pfb/tensor/tensor.cuh"
#include "kernels/pfb/tensor/words.cuh"

namespace gr::aperture::kernels::cuda::tensor {

/*!
 * Sums of |x|^2 and |x|^4 of the voltages of each cell, made by the consumers where they
 * have them in registers. A consumer thread always has the same eight channels: their
 * sums stay in shared memory, where no other thread looks at them, until the slice or
 * the piece ends. Then they are added to those in memory. Both are whole numbers, so
 * that the order does not matter. `own` is the address of the thread's first vector, of
 * [half of the elements][|x|^2, |x|^4, |x|^4][thread].
 */
template <class Call>
struct slice_sums {
    static constexpr int row = consumer_threads * int(sizeof(uint4));
    static constexpr int bytes = vectors_of_sums * row; // bytes of a consumer

    __device__ __forceinline__ static void clear(uint32_t own)
    {
#pragma unroll
        for (int k = 0; k < vectors_of_sums; k++)
            store_shared(own + k * row, {});
    }

    //! \return the spectrum of the call before which a slice, or the piece, ends
    __device__ __forceinline__ static int end_of_slice(int time, int end, const Call& c)
    {
        const int slice = c.sums.spectra_per_slice;
        return min(end, time + slice - (c.first_time + time) % slice);
    }

    //! Adds the four spectra of a slot, of elements `from` to from + 3.
    //! \param low, high words of both pairs
    __device__ __forceinline__ static void
    add(uint32_t own, int from, const uint32_t* low, const uint32_t* high)
    {
        const uint32_t at = own + from / 4 * (3 * row);
        uint4 v[3];
#pragma unroll
        for (int k = 0; k < 3; k++)
            v[k] = load_shared(at + k * row);
        add_element(v[0].x, v[1].x, v[1].y, low[0], high[0]);
        add_element(v[0].y, v[1].z, v[1].w, low[1], high[1]);
        add_element(v[0].z, v[2].x, v[2].y, low[2], high[2]);
        add_element(v[0].w, v[2].z, v[2].w, low[3], high[3]);
#pragma unroll
        for (int k = 0; k < 3; k++)
            store_shared(at + k * row, v[k]);
    }

    //! Adds the sums to those in memory.
    //! \param channel of element 0
    //! \param time of the call, within the slice
    __device__ __forceinline__ static void
    leave(uint32_t own, int channel, int input, int time, const Call& c)
    {
        const input_of_frame of = c.of_frame[input];
        const int frame = (c.sums.first_frame + of.frame) % c.sums.frames;
        const int slice = (c.first_time + time) / c.sums.spectra_per_slice;
        const int64_t at =
            ((int64_t(frame) * c.inputs + of.input) * c.sums.slices + slice) *
                Call::channels +
            channel;
        constexpr int apart = 4 * radix * Call::ranks; // channels of successive elements
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            uint4 v[3];
#pragma unroll
            for (int k = 0; k < 3; k++)
                v[k] = load_shared(own + (half * 3 + k) * row);
            const uint32_t s1[] = { v[0].x, v[0].y, v[0].z, v[0].w };
            const uint32_t s2[] = { v[1].x, v[1].y, v[1].z, v[1].w,
                                    v[2].x, v[2].y, v[2].z, v[2].w };
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int64_t to = at + (half * 4 + i) * apart;
                atomicAdd(c.sums.powers + to, s1[i]);
                atomicAdd(reinterpret_cast<unsigned long long*>(c.sums.squares) + to,
                          (unsigned long long)(s2[2 * i + 1]) << 32 | s2[2 * i]);
            }
        }
        clear(own);
    }

private:
    static __device__ __forceinline__ void add_element(
        uint32_t& s1, uint32_t& s2_low, uint32_t& s2_high, uint32_t low, uint32_t high)
    {
        // Powers of the first and the second spectrum of a word.
        const uint32_t a = __dp4a(int(low & 0xffff), int(low), 0);
        const uint32_t two = uint32_t(__dp4a(int(low), int(low), int(s1)));
        const uint32_t b = two - s1 - a;
        const uint32_t e = __dp4a(int(high & 0xffff), int(high), 0);
        const uint32_t four = uint32_t(__dp4a(int(high), int(high), int(two)));
        const uint32_t f = four - two - e;
        s1 = four;
        // The sum over four spectra is at most 4 (2 127^2)^2, which is below 2^32.
        const uint32_t squares = a * a + b * b + e * e + f * f;
        asm("add.cc.u32 %0, %0, %2;\n"
            "addc.u32 %1, %1, 0;"
            : "+r"(s2_low), "+r"(s2_high)
            : "r"(squares));
    }
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_SUMS_CUH */
