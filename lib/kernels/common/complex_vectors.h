/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_COMPLEX_VECTORS_H
#define INCLUDED_APERTURE_KERNELS_COMMON_COMPLEX_VECTORS_H

#include <cstddef>
#include <cstdint>

/*!
 * Loops over arrays of complex elements, given as floats re, im, re, im ...; `count` is
 * the number of complex elements. (With std::complex the compiler has to treat infinities
 * and does not use vector instructions.)
 */
namespace gr::aperture::kernels::host {

//! Adds a rotated array: sum[j] += values[j] exp(2 pi i (cycles + j slope)).
void add_rotated(
    const float* values, size_t count, double cycles, double slope, float* sum);

//! Adds: sum[j] += values[j].
void add(const float* values, size_t count, float* sum);

//! Multiplies by a complex number: values[j] *= re + i im.
void multiply(float* values, size_t count, float re, float im);

//! Multiplies by real factors: values[j] *= factors[j].
void multiply(float* values, const float* factors, size_t count);

//! Combines x and y: out[j] = (x[j] + sign i y[j]) / sqrt(2), r with 1, l with -1.
void combine(const float* x, const float* y, float sign, size_t count, float* out);

//! Rounds half to even and clamps to +-limit; returns the clamped samples.
uint32_t round_and_clamp(float* values, size_t count, float limit);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_COMPLEX_VECTORS_H */
