/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_PLANES_H
#define INCLUDED_APERTURE_KERNELS_COMMON_PLANES_H

#include "kernels/common/types.h"
#include <cstddef>
#include <cstdint>

/*!
 * Loops over complex voltages whose real and imaginary parts lie apart: planes, which
 * need no shuffling in vector registers.
 */
namespace gr::aperture::kernels::host {

//! Unpacks voltages of a type (sc8, sc4 or fc32) into planes.
void unpack_planes(
    sample_type type, const void* voltages, size_t count, float* re, float* im);
//! Unpacks voltages (sc8 or sc4) into pairs of int16: re in the low half.
void unpack_pairs(sample_type type, const void* voltages, size_t count, int32_t* pairs);

//! Interleaves planes: re, im, re, im ...
void interleave(const float* re, const float* im, size_t count, float* out);
//! Converts planes to sc8, rounded half to even; returns the clamped samples.
uint32_t quantise(const float* re, const float* im, size_t count, int8_t* out);

//! Returns sum |x|^2.
float power_of(const float* re, const float* im, size_t count);
//! Returns sums[0] + i sums[1] = sum x conj(y).
void cross_power_of(const float* x_re,
                    const float* x_im,
                    const float* y_re,
                    const float* y_im,
                    size_t count,
                    float* sums);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_PLANES_H */
