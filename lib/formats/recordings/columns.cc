/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/columns.h"
#include "kernels/common/simd.h"
#include <algorithm>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

#define APERTURE_INLINE inline __attribute__((always_inline))

// A number of columns that is known here becomes vector shuffles.
template <int Stride, class element>
APERTURE_INLINE void take(const element* from, int64_t n, element* to)
{
    for (int64_t t = 0; t < n; t++)
        to[t] = from[t * Stride];
}

template <class element>
APERTURE_INLINE void take_one(const element* from, int64_t stride, int64_t n, element* to)
{
    switch (stride) {
    case 1:
        return take<1>(from, n, to);
    case 2:
        return take<2>(from, n, to);
    case 4:
        return take<4>(from, n, to);
    }
    for (int64_t t = 0; t < n; t++)
        to[t] = from[t * stride];
}

template <int Columns, class element>
APERTURE_INLINE void
interleave(const element* from, int64_t distance, int64_t n, element* to)
{
    for (int64_t t = 0; t < n; t++)
        for (int i = 0; i < Columns; i++)
            to[t * Columns + i] = from[i * distance + t];
}

template <class element>
APERTURE_INLINE void interleave_all(
    const element* from, int64_t distance, int64_t columns, int64_t n, element* to)
{
    switch (columns) {
    case 1:
        return interleave<1>(from, distance, n, to);
    case 2:
        return interleave<2>(from, distance, n, to);
    case 4:
        return interleave<4>(from, distance, n, to);
    case 8:
        return interleave<8>(from, distance, n, to);
    }
    // some times of all columns in turn: both sides stay in the first-level cache
    constexpr int64_t times = 64;
    for (int64_t begin = 0; begin < n; begin += times)
        for (int64_t i = 0; i < columns; i++)
            for (int64_t t = begin; t < std::min(n, begin + times); t++)
                to[t * columns + i] = from[i * distance + t];
}

// The attribute that makes a version for each processor cannot stand before a template.
APERTURE_SIMD void take_1(const uint8_t* from, int64_t stride, int64_t n, uint8_t* to)
{
    take_one(from, stride, n, to);
}
APERTURE_SIMD void take_2(const uint16_t* from, int64_t stride, int64_t n, uint16_t* to)
{
    take_one(from, stride, n, to);
}
APERTURE_SIMD void take_4(const uint32_t* from, int64_t stride, int64_t n, uint32_t* to)
{
    take_one(from, stride, n, to);
}
APERTURE_SIMD void take_8(const uint64_t* from, int64_t stride, int64_t n, uint64_t* to)
{
    take_one(from, stride, n, to);
}

APERTURE_SIMD void
interleave_1(const uint8_t* from, int64_t d, int64_t columns, int64_t n, uint8_t* to)
{
    interleave_all(from, d, columns, n, to);
}
APERTURE_SIMD void
interleave_2(const uint16_t* from, int64_t d, int64_t columns, int64_t n, uint16_t* to)
{
    interleave_all(from, d, columns, n, to);
}
APERTURE_SIMD void
interleave_4(const uint32_t* from, int64_t d, int64_t columns, int64_t n, uint32_t* to)
{
    interleave_all(from, d, columns, n, to);
}
APERTURE_SIMD void
interleave_8(const uint64_t* from, int64_t d, int64_t columns, int64_t n, uint64_t* to)
{
    interleave_all(from, d, columns, n, to);
}

template <class element>
const element* as(const void* from)
{
    return static_cast<const element*>(from);
}
template <class element>
element* as(void* to)
{
    return static_cast<element*>(to);
}

} // namespace

void take_column(const void* from, int64_t stride, int64_t n, size_t size, void* to)
{
    switch (size) {
    case 1:
        return take_1(as<uint8_t>(from), stride, n, as<uint8_t>(to));
    case 2:
        return take_2(as<uint16_t>(from), stride, n, as<uint16_t>(to));
    case 4:
        return take_4(as<uint32_t>(from), stride, n, as<uint32_t>(to));
    case 8:
        return take_8(as<uint64_t>(from), stride, n, as<uint64_t>(to));
    }
    throw std::logic_error("no samples of this size");
}

void interleave_columns(
    const void* from, int64_t distance, int columns, int64_t n, size_t size, void* to)
{
    switch (size) {
    case 1:
        return interleave_1(as<uint8_t>(from), distance, columns, n, as<uint8_t>(to));
    case 2:
        return interleave_2(as<uint16_t>(from), distance, columns, n, as<uint16_t>(to));
    case 4:
        return interleave_4(as<uint32_t>(from), distance, columns, n, as<uint32_t>(to));
    case 8:
        return interleave_8(as<uint64_t>(from), distance, columns, n, as<uint64_t>(to));
    }
    throw std::logic_error("no samples of this size");
}

} // namespace gr::aperture::formats
