/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/packets/transposition.h"
#include <algorithm>
#include <cstring>

namespace gr::aperture::formats {

namespace {

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint16_t words8 __attribute__((vector_size(16)));

//! a0 b0 a1 b1 ..., of the first halves and of the second ones.
inline void interleave(bytes16& a, bytes16& b)
{
    const bytes16 first = __builtin_shuffle(
        a, b, bytes16{ 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23 });
    b = __builtin_shuffle(
        a, b, bytes16{ 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31 });
    a = first;
}

inline void interleave(words8& a, words8& b)
{
    const words8 first = __builtin_shuffle(a, b, words8{ 0, 8, 1, 9, 2, 10, 3, 11 });
    b = __builtin_shuffle(a, b, words8{ 4, 12, 5, 13, 6, 14, 7, 15 });
    a = first;
}

//! Squares of as many rows as a vector has elements: in each round, each row is
//! interleaved with the one half a square below.
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
            for (int done = 1; done < side; done *= 2) {
                vector w[side];
                for (int i = 0; i < side / 2; i++) {
                    w[2 * i] = v[i];
                    w[2 * i + 1] = v[i + side / 2];
                    interleave(w[2 * i], w[2 * i + 1]);
                }
                std::copy_n(w, side, v);
            }
            for (int i = 0; i < side; i++)
                std::memcpy(
                    out + size_t(c + i) * out_stride + size_t(r), &v[i], sizeof(vector));
        }
    for (int r = 0; r < rows; r++)
        for (int c = r < whole_rows ? whole_columns : 0; c < columns; c++)
            out[size_t(c) * out_stride + size_t(r)] =
                in[size_t(r) * in_stride + size_t(c)];
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
    if (element_bytes == 1)
        transpose_elements<uint8_t, bytes16>(static_cast<const uint8_t*>(in),
                                             in_stride,
                                             rows,
                                             columns,
                                             static_cast<uint8_t*>(out),
                                             out_stride);
    else
        transpose_elements<uint16_t, words8>(static_cast<const uint16_t*>(in),
                                             in_stride,
                                             rows,
                                             columns,
                                             static_cast<uint16_t*>(out),
                                             out_stride);
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
