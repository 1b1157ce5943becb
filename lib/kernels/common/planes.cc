/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled so that sums may be taken in any order, as vector instructions do
#include "kernels/common/planes.h"
#include "kernels/common/simd.h"
#include "kernels/common/voltage.h"
#include <volk/volk.h>
#include <complex>

namespace gr::aperture::kernels::host {

namespace {

inline int high_nibble(int8_t v) { return (v >> 4) < -7 ? -7 : v >> 4; }
inline int low_nibble(int8_t v) { return high_nibble(int8_t(uint8_t(v) << 4)); }

APERTURE_SIMD
void planes_of_sc8(const int8_t* in, size_t count, float* re, float* im)
{
    for (size_t t = 0; t < count; t++) {
        re[t] = voltage_part(in[2 * t]);
        im[t] = voltage_part(in[2 * t + 1]);
    }
}

APERTURE_SIMD
void planes_of_sc4(const int8_t* in, size_t count, float* re, float* im)
{
    for (size_t t = 0; t < count; t++) {
        re[t] = float(high_nibble(in[t]));
        im[t] = float(low_nibble(in[t]));
    }
}

APERTURE_SIMD
void pairs_of_sc8(const int8_t* in, size_t count, int16_t* pairs)
{
    for (size_t i = 0; i < 2 * count; i++)
        pairs[i] = voltage_part(in[i]);
}

APERTURE_SIMD
void pairs_of_sc4(const int8_t* in, size_t count, int16_t* pairs)
{
    for (size_t t = 0; t < count; t++) {
        pairs[2 * t] = int16_t(high_nibble(in[t]));
        pairs[2 * t + 1] = int16_t(low_nibble(in[t]));
    }
}

} // namespace

void unpack_planes(
    sample_type type, const void* voltages, size_t count, float* re, float* im)
{
    if (type == sample_type::fc32)
        volk_32fc_deinterleave_32f_x2(
            re, im, static_cast<const std::complex<float>*>(voltages), count);
    else if (type == sample_type::sc8)
        planes_of_sc8(static_cast<const int8_t*>(voltages), count, re, im);
    else
        planes_of_sc4(static_cast<const int8_t*>(voltages), count, re, im);
}

void unpack_pairs(sample_type type, const void* voltages, size_t count, int32_t* pairs)
{
    auto* halves = reinterpret_cast<int16_t*>(pairs); // little-endian
    if (type == sample_type::sc8)
        pairs_of_sc8(static_cast<const int8_t*>(voltages), count, halves);
    else
        pairs_of_sc4(static_cast<const int8_t*>(voltages), count, halves);
}

void interleave(const float* re, const float* im, size_t count, float* out)
{
    volk_32f_x2_interleave_32fc(
        reinterpret_cast<std::complex<float>*>(out), re, im, count);
}

APERTURE_SIMD
uint32_t quantise(const float* re, const float* im, size_t count, int8_t* out)
{
    uint32_t clamped = 0;
    for (size_t t = 0; t < count; t++) {
        const float r = __builtin_rintf(re[t]), i = __builtin_rintf(im[t]);
        const float low_r = r < -127 ? -127 : r, low_i = i < -127 ? -127 : i;
        const float in_r = low_r > 127 ? 127 : low_r, in_i = low_i > 127 ? 127 : low_i;
        clamped += (in_r != r) | (in_i != i);
        out[2 * t] = int8_t(in_r);
        out[2 * t + 1] = int8_t(in_i);
    }
    return clamped;
}

float power_of(const float* re, const float* im, size_t count)
{
    float of_re, of_im;
    volk_32f_x2_dot_prod_32f(&of_re, re, re, count);
    volk_32f_x2_dot_prod_32f(&of_im, im, im, count);
    return of_re + of_im;
}

APERTURE_SIMD
void cross_power_of(const float* x_re,
                    const float* x_im,
                    const float* y_re,
                    const float* y_im,
                    size_t count,
                    float* sums)
{
    float re = 0, im = 0;
    for (size_t t = 0; t < count; t++) {
        re += x_re[t] * y_re[t] + x_im[t] * y_im[t];
        im += x_im[t] * y_re[t] - x_re[t] * y_im[t];
    }
    sums[0] = re;
    sums[1] = im;
}

} // namespace gr::aperture::kernels::host
