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

//! Transposes squares of as many rows as a vector has elements.
template <class element, class vector>
void transpose_elements(const element* in,
                        size_t in_stride,
                        int rows,
                        int columns,
                        element* out,
                        size_t out_stride)
{
    constexpr int side = int(sizeof(vector) / sizeof(element));
    const int whole_rows = rows - rows % side;
    const int whole_columns = columns - columns % side;
    for (int r = 0; r < whole_rows; r += side)
        for (int c = 0; c < whole_columns; c += side) {
            vector v[side];
            for (int i = 0; i < side; i++)
                std::memcpy(
                    &v[i], in + size_t(r + i) * in_stride + size_t(c), sizeof(vector));
            kernels::transpose_square(v);
            for (int i = 0; i < side; i++)
                std::memcpy(
                    out + size_t(c + i) * out_stride + size_t(r), &v[i], sizeof(vector));
        }
    for (int r = 0; r < rows; r++)
        for (int c = r < whole_rows ? whole_columns : 0; c < columns; c++)
            out[size_t(c) * out_stride + size_t(r)] =
                in[size_t(r) * in_stride + size_t(c)];
}

//! Transposes element by element, a cache line of each row at a time.
template <class element>
void transpose_singly(const element* in,
                      size_t in_stride,
                      int rows,
                      int columns,
                      element* out,
                      size_t out_stride)
{
    constexpr int side = 64 / sizeof(element);
    for (int start = 0; start < rows; start += side)
        for (int c = 0; c < columns; c++)
            for (int r = start; r < std::min(rows, start + side); r++)
                out[size_t(c) * out_stride + size_t(r)] =
                    in[size_t(r) * in_stride + size_t(c)];
}

template <class element>
const element* as(const void* in)
{
    return static_cast<const element*>(in);
}
template <class element>
element* as(void* out)
{
    return static_cast<element*>(out);
}

} // namespace

void transpose(const void* in,
               size_t in_stride,
               int rows,
               int columns,
               void* out,
               size_t out_stride,
               int element_bytes)
{
    switch (element_bytes) {
    case 1:
        return transpose_elements<uint8_t, kernels::bytes16>(
            as<uint8_t>(in), in_stride, rows, columns, as<uint8_t>(out), out_stride);
    case 2:
        return transpose_elements<uint16_t, kernels::words8>(
            as<uint16_t>(in), in_stride, rows, columns, as<uint16_t>(out), out_stride);
    case 4:
        return transpose_singly(
            as<uint32_t>(in), in_stride, rows, columns, as<uint32_t>(out), out_stride);
    case 8:
        return transpose_singly(
            as<uint64_t>(in), in_stride, rows, columns, as<uint64_t>(out), out_stride);
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
