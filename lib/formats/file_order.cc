/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/transposition.h"
#include "kernels/common/simd.h"
#include <gnuradio/aperture/file_order.h>
#include <algorithm>
#include <complex>
#include <cstring>

namespace gr::aperture::file_order {

namespace {

// A tile's rows are read a cache line at a time, and its columns written likewise: where
// rows are a power of two apart, few of them stay in the cache together.
constexpr int64_t line = 64; // bytes

template <class element>
void transpose_tile(const char* from,
                    int64_t from_row,
                    int64_t rows,
                    int64_t columns,
                    char* to,
                    int64_t to_row)
{
    for (int64_t c = 0; c < columns; c++) {
        auto* out = reinterpret_cast<element*>(to + c * to_row);
        for (int64_t r = 0; r < rows; r++)
            out[r] = reinterpret_cast<const element*>(from + r * from_row)[c];
    }
}

void transpose_tile(const char* from,
                    int64_t from_row,
                    int64_t rows,
                    int64_t columns,
                    char* to,
                    int64_t to_row,
                    int bytes)
{
    switch (bytes) {
    case 1:
    case 2:
        formats::transpose(from,
                           size_t(from_row / bytes),
                           int(rows),
                           int(columns),
                           to,
                           size_t(to_row / bytes),
                           bytes);
        break;
    case 4:
        transpose_tile<uint32_t>(from, from_row, rows, columns, to, to_row);
        break;
    case 8:
        transpose_tile<uint64_t>(from, from_row, rows, columns, to, to_row);
        break;
    default:
        transpose_tile<std::complex<double>>(from, from_row, rows, columns, to, to_row);
    }
}

//! Transposes few rows, one after the other.
template <class element>
void transpose_rows(const char* from,
                    int64_t from_row,
                    int64_t rows,
                    int64_t columns,
                    char* to,
                    int64_t to_row)
{
    for (int64_t r = 0; r < rows; r++) {
        const auto* in = reinterpret_cast<const element*>(from + r * from_row);
        char* out = to + r * int64_t(sizeof(element));
        for (int64_t c = 0; c < columns; c++)
            *reinterpret_cast<element*>(out + c * to_row) = in[c];
    }
}

constexpr int64_t few_rows = 8;

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
    const int64_t side = line / bytes;
    for (int64_t m = 0; m < count; m++) {
        const auto* in = static_cast<const char*>(from) + m * read.stride;
        auto* out = static_cast<char*>(to) + m * written.stride;
        if (rows < few_rows && bytes <= 2) {
            (bytes == 1 ? transpose_rows<uint8_t>
                        : transpose_rows<uint16_t>)(in,
                                                    read.row,
                                                    rows,
                                                    columns,
                                                    out,
                                                    written.row);
            continue;
        }
        for (int64_t r = 0; r < rows; r += side)
            for (int64_t c = 0; c < columns; c += side)
                transpose_tile(in + r * read.row + c * bytes,
                               read.row,
                               std::min(side, rows - r),
                               std::min(side, columns - c),
                               out + c * written.row + r * bytes,
                               written.row,
                               bytes);
    }
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
