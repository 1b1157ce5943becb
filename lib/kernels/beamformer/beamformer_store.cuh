/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_STORE_CUH
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_STORE_CUH

#include "kernels/beamformer/beamformer_tile.cuh"
#include "kernels/gpu/bulk_copy.cuh"

namespace gr::aperture::kernels::cuda {

/*!
 * Writes sc8 as write_sc8 does, for warp groups that have 64 times of the same beams: in
 * boxes that the copy engine takes from shared memory, while the next beams are formed.
 * Saturation, which costs nothing, is to 256 steps, of which both ends are the byte -128:
 * what was clamped is seen in the bytes, and put right. There are two roundings, the
 * first to 2^-16 of a step.
 * It needs registers for some words and as much shared memory as a tile has numbers.
 */
struct store_sc8 {
    CUtensorMap map; // boxes of 64 times of the beams of a tile
    unsigned long long* clamped;

    static constexpr lane_times times = lane_times::pair;
    static constexpr int scratch(int beams) { return beams * box_row; }

    template <int Beams, class Value>
    __device__ __forceinline__ void operator()(const Value& value,
                                               const beam_place& p,
                                               float factor,
                                               uint8_t* scratch) const
    {
        const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        const int warp = threadIdx.x / 32 % 4;
        const bool speaks = threadIdx.x % 128 == 0;
        const int time = p.first_time - 16 * warp;
        if (time >= p.times)
            return;
        const uint32_t box = shared_address(scratch);
        const auto row_at = [&](int row) { // places of the first 8 rows
            return box + row * box_row + ((32 * warp + 4 * g) ^ (row << 4));
        };
        const uint32_t at[2] = { row_at(2 * t), row_at(2 * t + 1) };
        if (speaks)
            wait_for_stores(); // the beams before have left
        sync_warp_group();
        constexpr int together = 8; // words, of a beam's 2 times
#pragma unroll
        for (int i = 0; i < Beams / 4; i += together) {
            uint32_t words[together];
            int most = 0; // sum of squares
#pragma unroll
            for (int k = 0; k < together; k++) {
                const int beam = i + k;
                words[k] = __byte_perm(rounded(value(beam / 2, beam % 2, 0), factor),
                                       rounded(value(beam / 2, beam % 2, 1), factor),
                                       0x5410);
                most = max(most, __dp4a(int(words[k]), int(words[k]), 0));
            }
            if (most >= 128 * 128) // there may be a -128
#pragma unroll
                for (int k = 0; k < together; k++)
                    words[k] = clamp(value, p, factor, i + k);
#pragma unroll
            for (int k = 0; k < together; k++)
                asm volatile("st.shared.b32 [%0], %1;" ::"r"(at[k % 2] +
                                                             (i + k) / 2 * 8 * box_row),
                             "r"(words[k])
                             : "memory");
        }
        fence_async();
        sync_warp_group();
        if (speaks)
            store_box(&map, box, 2 * time, p.first_beam, int(p.frame_channel), 0);
    }

private:
    //! The two parts as bytes 0 and 1, rounded half to even; -128 if they do not fit.
    static __device__ __forceinline__ uint32_t rounded(float2 beam, float factor)
    {
        const auto rounded = [&](float part) {
            float v; // 0 to 1
            asm("fma.rn.sat.f32 %0, %1, %2, %3;"
                : "=f"(v)
                : "f"(part), "f"(factor / 256), "f"(.5f));
            return __float_as_uint(fmaf(v, 256, magic - 128));
        };
        return __byte_perm(rounded(beam.x), rounded(beam.y), 0x0040);
    }

    //! The word of a beam, clamped to +-127 and counted.
    template <class Value>
    __device__ __forceinline__ uint32_t
    clamp(const Value& value, const beam_place& p, float factor, int beam) const
    {
        const auto rounded = [](float part) {
            return __float_as_uint(fminf(fmaxf(part, -127.f), 127.f) + magic);
        };
        uint32_t bytes[2];
        int over = 0;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float2 v = value(beam / 2, beam % 2, h);
            const float re = v.x * factor, im = v.y * factor;
            over += fmaxf(fabsf(re), fabsf(im)) >= 127.5f;
            bytes[h] = __byte_perm(rounded(re), rounded(im), 0x0040);
        }
        if (over) // beams and times that are not there are zeros
            atomicAdd(clamped + p.first_beam + beam / 2 * 8 + beam % 2 +
                          2 * (threadIdx.x % 4),
                      (unsigned long long)(over));
        return __byte_perm(bytes[0], bytes[1], 0x5410);
    }

    // adding this leaves a rounded number in the low bits
    static constexpr float magic = 3 << 22;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_STORE_CUH */
