/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_SAMPLES_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_SAMPLES_CUH

#include "kernels/common/types.h"
#include <cstdint>

namespace gr::aperture::kernels::cuda {

/*
 * Readers of each type of sample. A sample has one component or, if complex, two.
 *
 *   number()   one component, counted from the start; the lowest integer of 8 and 4 bits
 *              is read as the next, and reported
 *   quad       four components in a row, as they are in memory
 *   load()     from an address that is a multiple of `alignment`
 *   load_unaligned()  from where any sample begins
 *   unpack()   as float; the lowest is read as the next if `clamps`, otherwise as it is
 *   suspects() not 0 in a bit of `suspect` where a component may be the lowest, always
 * where it is
 */

/*!
 * Returns bits of a word, from bit First on, as a float. It is written so that the
 * conversion itself selects byte or half; shifts would be separate instructions.
 */
template <int First, int Bits>
__device__ __forceinline__ float signed_field(uint32_t word)
{
    int number;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(number) : "r"(word), "n"(First), "n"(Bits));
    return float(number);
}

//! Loads words from an address that need not be a multiple of 4.
template <int Words>
struct unaligned_words {
    uint32_t words[Words];
    __device__ explicit unaligned_words(const void* from)
    {
        const auto address = reinterpret_cast<uintptr_t>(from);
        const auto* aligned = reinterpret_cast<const uint32_t*>(address & ~uintptr_t(3));
        const int shift = 8 * (address & 3);
        uint32_t next = __ldg(aligned);
#pragma unroll
        for (int i = 0; i < Words; i++) {
            const uint32_t word = next;
            if (i + 1 < Words || shift) // otherwise no byte of it is needed
                next = __ldg(aligned + i + 1);
            words[i] = __funnelshift_r(word, next, shift);
        }
    }
};

//! Reads four components in a row as one word of memory.
template <class Quad>
struct whole_quads {
    using quad = Quad;
    static constexpr int alignment = sizeof(quad);
    static __device__ quad load(const void* from)
    {
        return __ldg(static_cast<const quad*>(from));
    }
};

template <class real, int Bits, bool Complex>
struct plain_samples {
    static constexpr bool complex = Complex;
    static constexpr int bits = Bits;
    static constexpr uint32_t suspect = 0;
    static constexpr bool clamps = true; // nothing to do
    static __device__ float number(const void* from, int64_t i, bool&)
    {
        return static_cast<const real*>(from)[i];
    }
};

template <bool Complex>
struct float_samples : plain_samples<float, 32, Complex>, whole_quads<float4> {
    static __device__ quad load_unaligned(const void* from)
    {
        const auto* numbers = static_cast<const float*>(from);
        return {
            __ldg(numbers), __ldg(numbers + 1), __ldg(numbers + 2), __ldg(numbers + 3)
        };
    }
    static __device__ float4 unpack(quad v) { return v; }
    static __device__ uint32_t suspects(quad) { return 0; }
};

template <bool Complex>
struct int16_samples : plain_samples<int16_t, 16, Complex>, whole_quads<uint2> {
    static __device__ quad load_unaligned(const void* from)
    {
        const unaligned_words<2> v(from);
        return { v.words[0], v.words[1] };
    }
    static __device__ float4 unpack(quad v)
    {
        return { signed_field<0, 16>(v.x),
                 signed_field<16, 16>(v.x),
                 signed_field<0, 16>(v.y),
                 signed_field<16, 16>(v.y) };
    }
    static __device__ uint32_t suspects(quad) { return 0; }
};

template <bool Complex>
struct int8_samples : whole_quads<uint32_t> {
    static constexpr bool complex = Complex;
    static constexpr int bits = 8;
    static constexpr uint32_t suspect = 0x80808080;
    static constexpr bool clamps =
        false; // clamping would take longer than searching for it
    static __device__ float number(const void* from, int64_t i, bool& lowest)
    {
        const int v = static_cast<const int8_t*>(from)[i];
        lowest |= v == -128;
        return max(v, -127);
    }
    static __device__ quad load_unaligned(const void* from)
    {
        return unaligned_words<1>(from).words[0];
    }
    static __device__ float4 unpack(quad v)
    {
        return { signed_field<0, 8>(v),
                 signed_field<8, 8>(v),
                 signed_field<16, 8>(v),
                 signed_field<24, 8>(v) };
    }
    //! Returns bits of bytes that are negative, and no longer when 1 is subtracted. A
    //! borrow may add a false one.
    static __device__ uint32_t suspects(quad v) { return v & ~(v - 0x01010101); }
};

//! Reads complex samples with the real part in the high half of a byte.
struct sc4_samples : whole_quads<uint16_t> {
    static constexpr bool complex = true;
    static constexpr int bits = 4;
    static constexpr uint32_t suspect = 0x8888;
    static constexpr bool clamps = true; // the lowest integer is not rare
    static __device__ float number(const void* from, int64_t i, bool& lowest)
    {
        const int byte = static_cast<const int8_t*>(from)[i >> 1];
        const int v = i & 1 ? int8_t(byte << 4) >> 4 : byte >> 4;
        lowest |= v == -8;
        return max(v, -7);
    }
    static __device__ quad load_unaligned(const void* from)
    {
        const auto* bytes = static_cast<const uint8_t*>(from);
        return quad(__ldg(bytes) | __ldg(bytes + 1) << 8);
    }
    static __device__ float4 unpack(quad both)
    {
        const int v = both + (lowest(both) >> 3);
        return { float(v << 24 >> 28),
                 float(v << 28 >> 28),
                 float(v << 16 >> 28),
                 float(v << 20 >> 28) };
    }
    static __device__ uint32_t suspects(quad v) { return lowest(v); }
    //! Returns how many samples have a component that is the lowest.
    static __device__ int count_lowest(quad v)
    {
        return __popc((lowest(v) | lowest(v) << 4) & 0x8080);
    }

private:
    //! Returns the highest bit of each -8.
    static __device__ uint32_t lowest(quad v)
    {
        const uint32_t other = v ^ 0x8888; // not 0 where the component is another one
        return ~(((other & 0x7777) + 0x7777) | other) & 0x8888;
    }
};

//! Reads real samples from a stream of bits, the highest first.
template <int Bits>
struct packed_samples {
    static constexpr bool complex = false;
    static constexpr int bits = Bits;
    using quad = uint64_t;                               // the highest bits first
    static constexpr int alignment = Bits == 12 ? 2 : 1; // a quad lies within two words
    static constexpr uint32_t suspect = 0;
    static constexpr bool clamps = true; // nothing to do
    static __device__ float number(const void* from, int64_t i, bool&)
    {
        // a component begins at an even bit, and so ends in the next byte
        const int64_t bit = i * Bits;
        const auto* bytes = static_cast<const uint8_t*>(from) + (bit >> 3);
        const int two = bytes[0] << 8 | bytes[1];
        return int16_t(two << (bit & 7)) >> (16 - Bits);
    }
    static __device__ quad load(const void* from)
    {
        const auto address = reinterpret_cast<uintptr_t>(from);
        const auto* words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t(3));
        const uint32_t first = __byte_perm(__ldg(words), 0, 0x0123);
        const uint32_t second = __byte_perm(__ldg(words + 1), 0, 0x0123);
        return (uint64_t(first) << 32 | second) << 8 * (address & 3);
    }
    static __device__ quad load_unaligned(const void* from)
    {
        const auto* bytes = static_cast<const uint8_t*>(from);
        quad v = 0;
#pragma unroll
        for (int i = 0; i < Bits / 2; i++)
            v |= quad(__ldg(bytes + i)) << (56 - 8 * i);
        return v;
    }
    static __device__ float4 unpack(quad v)
    {
        const auto at = [v](int i) {
            return float(int32_t(v << i * Bits >> 32) >> (32 - Bits));
        };
        return { at(0), at(1), at(2), at(3) };
    }
    static __device__ uint32_t suspects(quad) { return 0; }
};

//! Selects the struct above that reads samples of a type.
template <sample_type Type>
struct samples_of_type;
template <>
struct samples_of_type<sample_type::fc32> {
    using type = float_samples<true>;
};
template <>
struct samples_of_type<sample_type::sc16> {
    using type = int16_samples<true>;
};
template <>
struct samples_of_type<sample_type::sc8> {
    using type = int8_samples<true>;
};
template <>
struct samples_of_type<sample_type::sc4> {
    using type = sc4_samples;
};
template <>
struct samples_of_type<sample_type::f32> {
    using type = float_samples<false>;
};
template <>
struct samples_of_type<sample_type::s16> {
    using type = int16_samples<false>;
};
template <>
struct samples_of_type<sample_type::s12> {
    using type = packed_samples<12>;
};
template <>
struct samples_of_type<sample_type::s10> {
    using type = packed_samples<10>;
};
template <>
struct samples_of_type<sample_type::s8> {
    using type = int8_samples<false>;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_SAMPLES_CUH */
