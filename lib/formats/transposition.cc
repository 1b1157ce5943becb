/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/transposition.h"
#include "kernels/common/transpose_square.h"
#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

// Rows are read a cache line at a time, and columns written likewise: where rows are a
// power of two apart, few of them stay in the cache together.
constexpr int cache_line = 64;

//! Transposes squares of as many rows as a vector has elements, and what is left singly.
template <class element, class vector>
void transpose_tile(const char* in,
                    int64_t in_stride,
                    int rows,
                    int columns,
                    char* out,
                    int64_t out_stride)
{
    constexpr int side = int(sizeof(vector) / sizeof(element));
    const int whole_rows = side > 1 ? rows - rows % side : 0;
    const int whole_columns = columns - columns % side;
    for (int r = 0; r < whole_rows; r += side)
        for (int c = 0; c < whole_columns; c += side) {
            vector v[side];
            for (int i = 0; i < side; i++)
                std::memcpy(&v[i],
                            in + (r + i) * in_stride + c * int(sizeof(element)),
                            sizeof(vector));
            if constexpr (side > 1)
                kernels::transpose_square(v);
            for (int i = 0; i < side; i++)
                std::memcpy(out + (c + i) * out_stride + r * int(sizeof(element)),
                            &v[i],
                            sizeof(vector));
        }
    for (int r = 0; r < rows; r++)
        for (int c = r < whole_rows ? whole_columns : 0; c < columns; c++)
            std::memcpy(out + c * out_stride + r * int(sizeof(element)),
                        in + r * in_stride + c * int(sizeof(element)),
                        sizeof(element));
}

template <class element, class vector>
void transpose_all(const char* in,
                   int64_t in_stride,
                   int rows,
                   int columns,
                   char* out,
                   int64_t out_stride)
{
    constexpr int side = cache_line / int(sizeof(element));
    for (int r = 0; r < rows; r += side)
        for (int c = 0; c < columns; c += side)
            transpose_tile<element, vector>(in + r * in_stride + c * int(sizeof(element)),
                                            in_stride,
                                            std::min(side, rows - r),
                                            std::min(side, columns - c),
                                            out + c * out_stride +
                                                r * int(sizeof(element)),
                                            out_stride);
}

} // namespace

void transpose(const void* in,
               int64_t in_stride,
               int rows,
               int columns,
               void* out,
               int64_t out_stride,
               int element_bytes)
{
    const auto call = [&](auto all) {
        all(static_cast<const char*>(in),
            in_stride,
            rows,
            columns,
            static_cast<char*>(out),
            out_stride);
    };
    switch (element_bytes) {
    case 1:
        return call(transpose_all<uint8_t, kernels::bytes16>);
    case 2:
        return call(transpose_all<uint16_t, kernels::words8>);
    case 4:
        return call(transpose_all<uint32_t, kernels::words4>);
    case 8:
        return call(transpose_all<uint64_t, kernels::words2>);
    case 16:
        return call(transpose_all<kernels::words2, kernels::words2>);
    }
    throw std::logic_error("no elements of this size");
}

uint64_t clamp_lowest(int8_t* samples, int64_t count)
{
    bool any = false;
    for (int64_t i = 0; i < 2 * count; i++)
        any |= samples[i] == -128;
    if (!any)
        return 0;
    uint64_t clamped = 0;
    for (int64_t i = 0; i < count; i++) {
        clamped += samples[2 * i] == -128 || samples[2 * i + 1] == -128;
        samples[2 * i] = std::max<int8_t>(samples[2 * i], -127);
        samples[2 * i + 1] = std::max<int8_t>(samples[2 * i + 1], -127);
    }
    return clamped;
}

} // namespace gr::aperture::formats
