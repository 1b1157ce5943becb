/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled so that the least of two floats is one instruction, whatever it makes of NaN
#include "kernels/common/quantise.h"
#include "kernels/common/simd.h"
#include <algorithm>
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

int32_t bits_of(float v)
{
    int32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    return bits;
}

constexpr size_t at_once =
    512; // complex samples, whose flags stay in the first-level cache

/*!
 * Quantises without comparisons, which would go through the mask registers one by one: a
 * flag is a difference of bits, and -1 the sign of a difference.
 */
APERTURE_SIMD uint64_t quantise_some(const float* values, size_t count, int8_t* out)
{
    uint8_t outside[2 * at_once];
    for (size_t i = 0; i < 2 * count; i++) {
        // a float beyond int32 has no defined rounding: 128 overflows as well
        const float near = std::min(std::max(values[i], -128.f), 128.f);
        // adding 1.5 2^23 leaves the integer, rounded half to even, in the low bits
        const int32_t rounded = bits_of(near + 12582912.f) - 0x4b400000;
        const int32_t fitting = std::min(std::max(rounded, -127), 127);
        // infinity has the largest bits of all numbers
        const int32_t is_nan = (0x7f800000 - (bits_of(values[i]) & 0x7fffffff)) >> 31;
        outside[i] = uint8_t((fitting ^ rounded) | is_nan); // 128 ^ 127, -128 ^ -127
        out[i] = int8_t(fitting & ~is_nan);
    }
    uint16_t clamped =
        0; // has the width of a pair of flags, otherwise each would be widened
    for (size_t k = 0; k < count; k++) {
        uint16_t either;
        std::memcpy(&either, outside + 2 * k, sizeof either);
        clamped = uint16_t(clamped + (either != 0));
    }
    return clamped;
}

} // namespace

uint64_t quantise(const float* values, size_t count, int8_t* out)
{
    uint64_t clamped = 0;
    for (size_t first = 0; first < count; first += at_once)
        clamped += quantise_some(
            values + 2 * first, std::min(count - first, at_once), out + 2 * first);
    return clamped;
}

} // namespace gr::aperture::kernels::host
