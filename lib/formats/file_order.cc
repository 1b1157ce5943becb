/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/transposition.h"
#include "kernels/common/simd.h"
#include <gnuradio/aperture/file_order.h>

namespace gr::aperture::file_order {

namespace {

/*!
 * Doubles above 2^52 are whole numbers: adding this one, and taking it off, rounds
 * half to even.
 */
constexpr double rounding = 6755399441055744.0; // 1.5 * 2^52

inline uint8_t as_byte(float power, double offset, double step)
{
    const double value = (double(power) - offset) / step;
    // NaN is not above 0
    const double inside = value > 0 ? (value < 255 ? value : 255) : 0;
    return uint8_t(int32_t((inside + rounding) - rounding));
}

APERTURE_SIMD void ascending_to_bytes(const float* powers,
                                      const double* offset,
                                      const double* step,
                                      int64_t channels,
                                      uint8_t* to)
{
    for (int64_t c = 0; c < channels; c++)
        to[c] = as_byte(powers[c], offset[c], step[c]);
}

APERTURE_SIMD void descending_to_bytes(const float* powers,
                                       const double* offset,
                                       const double* step,
                                       int64_t channels,
                                       uint8_t* to)
{
    for (int64_t c = 0; c < channels; c++)
        to[channels - 1 - c] = as_byte(powers[c], offset[c], step[c]);
}

} // namespace

void transpose(const void* from,
               const matrices& read,
               int64_t count,
               int64_t rows,
               int64_t columns,
               void* to,
               const matrices& written,
               int bytes)
{
    for (int64_t m = 0; m < count; m++)
        formats::transpose(static_cast<const char*>(from) + m * read.stride,
                           read.row,
                           int(rows),
                           int(columns),
                           static_cast<char*>(to) + m * written.stride,
                           written.row,
                           bytes);
}

void to_bytes(const float* powers,
              const double* offset,
              const double* step,
              int64_t channels,
              bool descending,
              uint8_t* to)
{
    (descending ? descending_to_bytes
                : ascending_to_bytes)(powers, offset, step, channels, to);
}

} // namespace gr::aperture::file_order
