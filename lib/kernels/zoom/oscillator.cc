/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/zoom/oscillator.h"
#include <cmath>

namespace gr::aperture::kernels {

namespace {

__extension__ typedef unsigned __int128 uint128;

constexpr int bits = 128, mantissa = 53;

uint128 joined(phase128 p) { return uint128(p.high) << 64 | p.low; }
phase128 split(uint128 v) { return { uint64_t(v >> 64), uint64_t(v) }; }

//! Returns a / b, 0 <= a < b, in units of 2^-128, rounded: a long division.
uint128 quotient(double a, double b)
{
    int exponent_a = 0, exponent_b = 0;
    auto rest = uint64_t(std::ldexp(std::frexp(a, &exponent_a), mantissa));
    const auto divisor = uint64_t(std::ldexp(std::frexp(b, &exponent_b), mantissa));
    // both have as many digits, and their quotient is 1/2 to 2
    const int zeros = exponent_b - exponent_a;
    if (rest == 0 || zeros > bits)
        return 0;
    uint128 found = rest >= divisor;
    rest -= rest >= divisor ? divisor : 0;
    for (int bit = 0; bit < bits - zeros; bit++) {
        rest *= 2;
        found = found * 2 + (rest >= divisor);
        rest -= rest >= divisor ? divisor : 0;
    }
    return found + (2 * rest >= divisor);
}

} // namespace

oscillator::oscillator(double frequency, double rate, int quarters)
{
    const uint128 part = quotient(std::abs(frequency), rate);
    const uint128 quarter = uint128(1) << (bits - 2);
    d_step = split((frequency < 0 ? -part : part) + quarter * uint128(int64_t(quarters)));
}

phase128 oscillator::phase(int64_t sample) const
{
    return split(joined(d_step) * uint128(sample));
}

} // namespace gr::aperture::kernels
