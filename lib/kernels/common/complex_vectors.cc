/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/complex_vectors.h"
#include "kernels/common/simd.h"
#include <volk/volk.h>
#include <algorithm>
#include <cmath>
#include <complex>

namespace gr::aperture::kernels::host {

namespace {

//! Returns exp(2 pi i cycles).
std::complex<double> phasor(double cycles)
{
    return std::polar(1.0, 2 * M_PI * (cycles - std::floor(cycles)));
}

} // namespace

// A table of 64 phasors and one exact phasor every 64 values: errors do not build up.
APERTURE_SIMD
void add_rotated(
    const float* values, size_t count, double cycles, double slope, float* sum)
{
    constexpr size_t row = 64;
    float re[row], im[row];
    for (size_t j = 0; j < row; j++) {
        const auto p = phasor(double(j) * slope);
        re[j] = float(p.real());
        im[j] = float(p.imag());
    }
    for (size_t first = 0; first < count; first += row) {
        const auto p = phasor(cycles + double(first) * slope);
        const auto row_re = float(p.real()), row_im = float(p.imag());
        const float* in = values + 2 * first;
        float* out = sum + 2 * first;
        const size_t length = std::min(row, count - first);
        for (size_t j = 0; j < length; j++) {
            const float c = row_re * re[j] - row_im * im[j];
            const float s = row_re * im[j] + row_im * re[j];
            out[2 * j] += in[2 * j] * c - in[2 * j + 1] * s;
            out[2 * j + 1] += in[2 * j] * s + in[2 * j + 1] * c;
        }
    }
}

void add(const float* values, size_t count, float* sum)
{
    volk_32f_x2_add_32f(sum, sum, values, 2 * count);
}

APERTURE_SIMD
void multiply(float* values, size_t count, float re, float im)
{
    for (size_t i = 0; i < count; i++) {
        const float a = values[2 * i], b = values[2 * i + 1];
        values[2 * i] = a * re - b * im;
        values[2 * i + 1] = a * im + b * re;
    }
}

void multiply(float* values, const float* factors, size_t count)
{
    auto* complex = reinterpret_cast<std::complex<float>*>(values);
    volk_32fc_32f_multiply_32fc(complex, complex, factors, count);
}

APERTURE_SIMD
void combine(const float* x, const float* y, float sign, size_t count, float* out)
{
    const float half = float(M_SQRT1_2);
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = half * (x[2 * i] - sign * y[2 * i + 1]);
        out[2 * i + 1] = half * (x[2 * i + 1] + sign * y[2 * i]);
    }
}

//! Rounds half to even and clamps to +-limit; returns the clamped samples.
APERTURE_SIMD
uint32_t round_and_clamp(float* values, size_t count, float limit)
{
    // adding it leaves no bits for a fraction, and the processor rounds half to even
    constexpr float rounder = 3 << 22;
    const float beyond = limit + 1;
    uint32_t clamped = 0;
    for (size_t i = 0; i < count; i++) {
        bool outside = false;
        for (size_t part = 0; part < 2; part++) {
            float v = values[2 * i + part];
            v = v < -beyond ? -beyond : v;
            v = v > beyond ? beyond : v;
            v = (v + rounder) - rounder;
            outside |= v < -limit || v > limit;
            v = v < -limit ? -limit : v;
            values[2 * i + part] = v > limit ? limit : v;
        }
        clamped += outside;
    }
    return clamped;
}

} // namespace gr::aperture::kernels::host
