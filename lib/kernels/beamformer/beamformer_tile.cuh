/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_TILE_CUH
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_TILE_CUH

#include "kernels/beamformer/beamformer_engine.h"
#include <type_traits>
#include <cstdint>

namespace gr::aperture::kernels::cuda {

/*!
 * Beams of 16 times in the registers of a warp, as all matrix instructions leave them:
 * lane 4 g + t has times 2 g and 2 g + 1 of the beams 8 j + 2 t and 8 j + 2 t + 1, that
 * is of a pair. value(j, c, h) is beam 8 j + 2 t + c at time 2 g + h.
 *
 * The object that receives them has
 *
 *     operator()<Beams>(value, place, factor, scratch)
 *                       their values are to be multiplied by factor, a power of two;
 *                       place is where those beams go
 *     scratch(beams)    bytes of shared memory that it needs for each group of 4 warps
 *     times             which of the 16 times a lane must have
 */
enum class lane_times {
    pair,  // 2 g and 2 g + 1, as above
    apart, // g and g + 8
    any
};
struct beam_place {
    int64_t frame_channel; // frame * channels + channel
    int first_beam, first_time;
    int beams, times; // the numbers of all of them
};

//! Waits until all threads of this group of 4 warps are here.
__device__ __forceinline__ void sync_warp_group()
{
    asm volatile("bar.sync %0, 128;" ::"r"(threadIdx.x / 128 + 1) : "memory");
}

/*!
 * fc32 [frame][channel][beam][time], to memory that is not read again soon.
 * \tparam Times of a lane: as a pair, one word of 16 bytes if times are Even; or apart,
 * in words of 8 bytes, of voltages that are read with few instructions, which do not wait
 * long behind the writes of others
 */
template <lane_times Times, bool Even>
struct write_fc32 {
    float2* to;

    static constexpr lane_times times = Times;
    static constexpr int scratch(int) { return 0; }

    template <int Beams, class Value>
    __device__ __forceinline__ void
    operator()(const Value& value, const beam_place& p, float factor, uint8_t*) const
    {
        constexpr bool pair = Times == lane_times::pair;
        constexpr int distance = pair ? 1 : 8; // distance of a lane's times
        const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        const int time = p.first_time + (pair ? 2 * g : g);
        if (pair && time >= p.times)
            return;
        const int first = p.first_beam + 2 * t;
        float2* row = to + (p.frame_channel * p.beams + first) * p.times + time;
#pragma unroll
        for (int j = 0; j < Beams / 8; j++, row += 8 * int64_t(p.times))
#pragma unroll
            for (int c = 0; c < 2; c++) {
                const float2 v = value(j, c, 0), w = value(j, c, 1);
                const float2 a = make_float2(v.x * factor, v.y * factor);
                const float2 b = make_float2(w.x * factor, w.y * factor);
                float2* at = row + c * int64_t(p.times);
                if (first + 8 * j + c >= p.beams || time >= p.times)
                    continue;
                if constexpr (pair && Even)
                    __stcs(reinterpret_cast<float4*>(at),
                           make_float4(a.x, a.y, b.x, b.y));
                else {
                    __stcs(at, a);
                    if (time + distance < p.times)
                        __stcs(at + distance, b);
                }
            }
    }
};

//! Writes if a > b, without a branch, to memory that is not read again soon.
__device__ __forceinline__ void write_if(int a, int b, void* to, uint32_t word)
{
    asm volatile("{\n.reg .pred p;\nsetp.gt.s32 p, %0, %1;\n"
                 "@p st.global.cs.b32 [%2], %3;\n}" ::"r"(a),
                 "r"(b),
                 "l"(to),
                 "r"(word)
                 : "memory");
}

/*!
 * sc8 [frame][channel][beam][time], rounded half to even, clamped to +-127 and counted.
 * Registers are short: whatever happens on the way to the write, there is no branch, and
 * the seldom counting repeats nothing whose result would have to be kept for it.
 */
template <bool Even>
struct write_sc8 {
    uint8_t* to;
    unsigned long long* clamped;

    static constexpr lane_times times = lane_times::pair;
    static constexpr int scratch(int) { return 0; }

    template <int Beams, class Value>
    __device__ __forceinline__ void
    operator()(const Value& value, const beam_place& p, float factor, uint8_t*) const
    {
        const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        const int time = p.first_time + 2 * g;
        if (time >= p.times)
            return;
        const int first = p.first_beam + 2 * t;
        const bool both = Even || time + 1 < p.times;
        uint8_t* row = to + 2 * ((p.frame_channel * p.beams + first) * p.times + time);
        int64_t step = 2 * int64_t(p.times);
        // The step is unknown to the compiler, or multiples of it would be kept from tile
        // to tile.
        asm volatile("" : "+l"(step));
        const float limit = 127 / factor; // exact: the factor is a power of two
        const float least = 127.5f / factor;
        uint32_t over = 0; // a bit for each beam with values that do not fit
        static_assert(Beams / 4 <= 32);
#pragma unroll
        for (int i = 0; i < Beams / 4; i++, row += i % 2 ? 0 : 8 * step) {
            const int beam = i / 2 * 8 + i % 2;
            const float2 a = value(i / 2, i % 2, 0), b = value(i / 2, i % 2, 1);
            const float most =
                fmaxf(fmaxf(fabsf(a.x), fabsf(a.y)), fmaxf(fabsf(b.x), fabsf(b.y)));
            over |= most >= least ? 1u << i : 0;
            const auto rounded = [&](float v) {
                // adding this leaves the rounded number in the low bits
                constexpr float magic = 3 << 22;
                return __float_as_uint(
                    fmaf(fminf(fmaxf(v, -limit), limit), factor, magic));
            };
            const uint32_t low = __byte_perm(rounded(a.x), rounded(a.y), 0x0040);
            const uint32_t high = __byte_perm(rounded(b.x), rounded(b.y), 0x0040);
            uint8_t* at = i % 2 ? row + step : row;
            if (Even)
                write_if(p.beams - first, beam, at, __byte_perm(low, high, 0x5410));
            else if (first + beam < p.beams) {
                reinterpret_cast<uint16_t*>(at)[0] = uint16_t(low);
                if (both)
                    reinterpret_cast<uint16_t*>(at)[1] = uint16_t(high);
            }
        }
        if (over == 0)
            return;
#pragma unroll
        for (int i = 0; i < Beams / 4; i++)
            if (over >> i & 1) {
                const auto out = [&](float2 v) {
                    return fabsf(v.x) >= least || fabsf(v.y) >= least;
                };
                const int count = int(out(value(i / 2, i % 2, 0))) +
                                  int(both && out(value(i / 2, i % 2, 1)));
                const int beam = first + i / 2 * 8 + i % 2;
                if (beam < p.beams)
                    atomicAdd(clamped + beam, (unsigned long long)(count));
            }
    }
};

/*!
 * Adds up the first `Count` values of each lane over the lanes that differ in Distance,
 * Distance / 2, ... 4, that is over g of 4 g + t. Each lane is left with the sums of a
 * part of the values (at least one), from the one on that is returned.
 */
template <int Count, int Distance = 16, int All>
__device__ __forceinline__ int sum_over_rows(float (&values)[All])
{
    if constexpr (Distance < 4)
        return 0;
    else {
        constexpr int half = Count / 2;
        const bool upper = threadIdx.x & Distance;
        if constexpr (half == 0)
            values[0] += __shfl_xor_sync(~0u, values[0], Distance);
#pragma unroll
        for (int i = 0; i < half; i++) {
            const float give = upper ? values[i] : values[i + half];
            const float keep = upper ? values[i + half] : values[i];
            values[i] = keep + __shfl_xor_sync(~0u, give, Distance);
        }
        return (upper ? half : 0) + sum_over_rows<half, Distance / 2>(values);
    }
}

/*!
 * Powers summed over pieces of the time, [frame][channel][piece][component].
 * \tparam Piece times of a piece: 1, 16, or 64, which a warp group does together
 */
template <beam_target::kind What, int Piece>
struct sum_powers {
    float* to;
    int pieces;

    static constexpr lane_times times = Piece > 1 ? lane_times::any : lane_times::pair;
    // the number of components of a pair
    static constexpr int components = What == beam_target::kind::intensity ? 1
                                      : What == beam_target::kind::powers  ? 2
                                                                           : 4;
    static constexpr int scratch(int beams)
    {
        return Piece == 64 ? 4 * (beams / 2) * components * int(sizeof(float)) : 0;
    }

    template <int Beams, class Value>
    __device__ __forceinline__ void operator()(const Value& value,
                                               const beam_place& p,
                                               float factor,
                                               uint8_t* scratch) const
    {
        constexpr int pairs = Beams / 8; // pairs of a lane
        constexpr int all = Beams / 2 * components;
        const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        const int total = components_of(What, p.beams);
        const int first_component = p.first_beam / 2 * components;
        const float scale = factor * factor;
        const auto add = [](float(&v)[components], float2 x, float2 y, bool first) {
            const auto square = [](float2 z, float before) {
                return fmaf(z.x, z.x, fmaf(z.y, z.y, before));
            };
            v[0] = square(x, first ? 0 : v[0]);
            if constexpr (components == 1)
                v[0] = square(y, v[0]);
            else
                v[1] = square(y, first ? 0 : v[1]);
            if constexpr (components == 4) {
                v[2] = fmaf(x.x, y.x, fmaf(x.y, y.y, first ? 0 : v[2]));
                v[3] = fmaf(x.y, y.x, fmaf(-x.x, y.y, first ? 0 : v[3]));
            }
        };
        if constexpr (Piece == 1) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int time = p.first_time + 2 * g + h;
                if (time >= p.times)
                    continue;
                float* row = to + (p.frame_channel * pieces + time) * total;
#pragma unroll
                for (int j = 0; j < pairs; j++) {
                    float v[components];
                    add(v, value(j, 0, h), value(j, 1, h), true);
                    const int component = first_component + (4 * j + t) * components;
#pragma unroll
                    for (int i = 0; i < components; i++)
                        if (component + i < total)
                            row[component + i] = v[i] * scale;
                }
            }
        } else {
            float* row = to + (p.frame_channel * pieces + p.first_time / Piece) * total +
                         first_component;
            const int warp = threadIdx.x / 32 % 4;
            float* shared = reinterpret_cast<float*>(scratch);
            if constexpr (Piece == 64)
                sync_warp_group(); // the sums before have been read
            // some pairs at a time, as registers allow
            constexpr int together = pairs * components <= 32 ? pairs : 32 / components;
            constexpr int count = together * components;
            constexpr int left = count < 8 ? 1 : count / 8;
            constexpr int copies = count < 8 ? 8 / count : 1; // lanes with the same sums
#pragma unroll
            for (int done = 0; done < pairs; done += together) {
                float values[count];
#pragma unroll
                for (int j = 0; j < together; j++) {
                    float v[components];
                    add(v, value(done + j, 0, 0), value(done + j, 1, 0), true);
                    add(v, value(done + j, 0, 1), value(done + j, 1, 1), false);
#pragma unroll
                    for (int i = 0; i < components; i++)
                        values[j * components + i] = v[i];
                }
                const int first = done * components + sum_over_rows<count>(values);
                const auto component_of = [&](int i) {
                    return ((first + i) / components * 4 + t) * components +
                           (first + i) % components;
                };
                if (g % copies == 0)
#pragma unroll
                    for (int i = 0; i < left; i++) {
                        const int component = component_of(i);
                        if (Piece == 64)
                            shared[warp * all + component] = values[i] * scale;
                        else if (p.first_time < p.times &&
                                 first_component + component < total)
                            row[component] = values[i] * scale;
                    }
            }
            if constexpr (Piece == 64) {
                sync_warp_group();
                if (p.first_time - 16 * warp < p.times)
                    for (int i = threadIdx.x % 128; i < all; i += 128)
                        if (first_component + i < total)
                            row[i] = (shared[i] + shared[all + i]) +
                                     (shared[2 * all + i] + shared[3 * all + i]);
            }
        }
    }
};

/*!
 * Calls run(target) with the object that does what `target` says: one of those above.
 * \tparam Groups whether warp groups work on 64 times
 */
template <bool Groups, bool Even, class Run>
void with_target(const beam_target& target, int times, const Run& run)
{
    using kind = beam_target::kind;
    const auto sum = [&](auto what) {
        auto* to = static_cast<float*>(target.to);
        const int pieces = target.pieces(times);
        if constexpr (Groups)
            if (target.piece == 64)
                return run(sum_powers<what.value, 64>{ to, pieces });
        if (target.piece == 16)
            return run(sum_powers<what.value, 16>{ to, pieces });
        if (target.piece == 1)
            return run(sum_powers<what.value, 1>{ to, pieces });
        throw std::logic_error("beams summed over a piece of time that nobody sums");
    };
    switch (target.what) {
    case kind::fc32:
        return run(write_fc32<lane_times::pair, Even>{ static_cast<float2*>(target.to) });
    case kind::sc8:
        return run(write_sc8<Even>{ static_cast<uint8_t*>(target.to), target.clamped });
    case kind::intensity:
        return sum(std::integral_constant<kind, kind::intensity>{});
    case kind::powers:
        return sum(std::integral_constant<kind, kind::powers>{});
    case kind::coherency:
        return sum(std::integral_constant<kind, kind::coherency>{});
    }
}

//! Two integers as half-precision numbers, exactly, for each component of 8 or 4 bits.
struct half_pair {
    static constexpr uint32_t bytes_64 = 0x64646464; // the upper byte of 1024 in f16
    static __device__ __forceinline__ uint32_t minus(uint32_t a, uint32_t b)
    {
        uint32_t d;
        asm("sub.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
        return d;
    }
    static __device__ __forceinline__ uint32_t plus(uint32_t a, uint32_t b)
    {
        uint32_t d;
        asm("add.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
        return d;
    }
};

/*!
 * Operands of 16 inputs at 16 times, of a warp. Lane 4 g + t has, of word i, the inputs
 * 2 t and 2 t + 1 (+ 8 if i >= 2) at time 2 g + i % 2, both in half precision; before
 * they are converted, as the integers they are, re and im together.
 */
using operand_words = uint32_t[4];

//! 8-bit voltages: two times of an input are a word.
struct voltage_sc8 {
    static constexpr int bytes = 2;

    //! Two times of an input, from shared memory.
    static __device__ __forceinline__ uint32_t load(uint32_t address)
    {
        uint32_t word;
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
        return word;
    }

    //! Multiplies inputs 2 t and 2 t + 1.
    static __device__ __forceinline__ void
    join(operand_words& to, int half, uint32_t first, uint32_t second, uint32_t = 0)
    {
        // re re im im, with 128 added
        to[2 * half] = __byte_perm(first, second, 0x5140) ^ 0x80808080u;
        to[2 * half + 1] = __byte_perm(first, second, 0x7362) ^ 0x80808080u;
    }
    static constexpr uint32_t bias = 0x64806480; // 1024 + 128
    static __device__ __forceinline__ uint32_t re(uint32_t v,
                                                  uint32_t bytes_64 = half_pair::bytes_64)
    {
        return half_pair::minus(__byte_perm(v, bytes_64, 0x4140), bias);
    }
    static __device__ __forceinline__ uint32_t im(uint32_t v,
                                                  uint32_t bytes_64 = half_pair::bytes_64)
    {
        return half_pair::minus(__byte_perm(v, bytes_64, 0x4342), bias);
    }
};

//! 8-bit voltages, but a word is one time of the inputs 2 t and 2 t + 1: already joined.
struct voltage_sc8_transposed {
    static constexpr int bytes = voltage_sc8::bytes;

    //! \param bytes_64_80 0x64806480: 1024 in half precision, and the sign bit of a byte
    static __device__ __forceinline__ uint32_t re(uint32_t v, uint32_t bytes_64_80)
    {
        return half_pair::minus((v & 0xff00ff) ^ bytes_64_80, voltage_sc8::bias);
    }
    static __device__ __forceinline__ uint32_t im(uint32_t v, uint32_t bytes_64_80)
    {
        return re(v >> 8, bytes_64_80);
    }
};

//! 4-bit voltages: re in the upper four bits, -8 is read as -7.
struct voltage_sc4 {
    static constexpr int bytes = 1;

    static __device__ __forceinline__ uint32_t load(uint32_t address)
    {
        uint16_t word;
        asm volatile("ld.shared.b16 %0, [%1];" : "=h"(word) : "r"(address) : "memory");
        return word;
    }

    static __device__ __forceinline__ void join(operand_words& to,
                                                int half,
                                                uint32_t first,
                                                uint32_t second,
                                                uint32_t bytes_64 = half_pair::bytes_64)
    {
        // times 0 0 1 1, with 8 added to each component; then 1024 more to each voltage
        const uint32_t all = __byte_perm(first, second, 0x5140) ^ 0x88888888u;
        to[2 * half] = __byte_perm(all, bytes_64, 0x4140);
        to[2 * half + 1] = __byte_perm(all, bytes_64, 0x4342);
    }
    static __device__ __forceinline__ uint32_t re(uint32_t v, uint32_t = 0)
    {
        uint32_t re; // from 1024 + 16 (re + 8)
        asm("fma.rn.f16x2 %0, %1, %2, %3;"
            : "=r"(re)
            : "r"(v & 0xfff0fff0u), "r"(0x2c002c00), "r"(0xd480d480)); // / 16 - 72
        return at_least_minus_7(re);
    }
    static __device__ __forceinline__ uint32_t im(uint32_t v, uint32_t = 0)
    {
        return at_least_minus_7(half_pair::minus(v & 0xff0fff0fu, 0x64086408));
    }

    static __device__ __forceinline__ uint32_t at_least_minus_7(uint32_t a)
    {
        const __half2 least =
            __halves2half2(__ushort_as_half(0xc700), __ushort_as_half(0xc700));
        const __half2 most = __hmax2(reinterpret_cast<const __half2&>(a), least);
        return reinterpret_cast<const uint32_t&>(most);
    }
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_TILE_CUH */
