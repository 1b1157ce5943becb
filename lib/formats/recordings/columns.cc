/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/columns.h"
#include "kernels/common/simd.h"
#include "kernels/common/transpose_square.h"
#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

#define APERTURE_INLINE inline __attribute__((always_inline))

// Bytes of interleaved samples that are read once for each few columns, and should still
// be in the first-level cache then.
constexpr int64_t cached_bytes = 16384;

// The vector of 16 bytes of an element. Squares of as many rows as it has elements are
// transposed in registers.
template <class element>
struct vector_of;
template <>
struct vector_of<uint8_t> {
    using type = kernels::bytes16;
};
template <>
struct vector_of<uint16_t> {
    using type = kernels::words8;
};
template <>
struct vector_of<uint32_t> {
    using type = kernels::words4;
};
template <>
struct vector_of<uint64_t> {
    using type = kernels::words2;
};
template <class element>
constexpr int side = 16 / sizeof(element);

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

// Takes `width` columns that lie side by side, at most as many as a vector has elements,
// of n samples from `begin` on, a multiple of those elements.
template <class element>
APERTURE_INLINE void take_squares(const element* from,
                                  int64_t stride,
                                  int width,
                                  int64_t begin,
                                  int64_t n,
                                  char* const* to)
{
    typename vector_of<element>::type v[side<element>];
    for (int64_t t = begin; t < begin + n; t += side<element>) {
        for (int i = 0; i < side<element>; i++)
            std::memcpy(&v[i], from + (t + i) * stride, sizeof v[i]);
        kernels::transpose_square(v);
        for (int i = 0; i < width; i++)
            std::memcpy(to[i] + t * int64_t(sizeof(element)), &v[i], sizeof v[i]);
    }
}

// Takes columns that lie side by side, `columns` of them.
template <class element>
APERTURE_INLINE void
take_run(const element* from, int64_t stride, int columns, int64_t n, char* const* to)
{
    constexpr int most = side<element>;
    const int width = std::min(columns, most);
    // a vector that has elements behind its last column must not be the last one
    const int64_t unread = width == most ? 0 : (most - width + stride - 1) / stride;
    const int64_t whole = std::max<int64_t>(0, n - unread) / most * most;
    const int64_t times =
        std::max<int64_t>(1, cached_bytes / (stride * int64_t(sizeof(element)) * most)) *
        most;
    for (int64_t begin = 0; begin < whole; begin += times)
        for (int done = 0; done < columns; done += width) {
            // the last ones are taken with some of those before them, once more
            const int c = std::min(done, columns - width);
            take_squares(
                from + c, stride, width, begin, std::min(times, whole - begin), to + c);
        }
    for (int c = 0; c < columns; c++)
        for (int64_t t = whole; t < n; t++)
            reinterpret_cast<element*>(to[c])[t] = from[t * stride + c];
}

template <class element>
APERTURE_INLINE void take_all(const element* from,
                              int64_t stride,
                              const int64_t* columns,
                              int count,
                              int64_t n,
                              char* const* to)
{
    for (int i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && columns[next] == columns[next - 1] + 1;)
            next++;
        if (next - i > 2 && (stride > 4 || side<element> <= 4)) {
            take_run(from + columns[i], stride, next - i, n, to + i);
            continue;
        }
        for (; i < next; i++)
            take_one(from + columns[i], stride, n, reinterpret_cast<element*>(to[i]));
    }
}

template <int Columns, class element>
APERTURE_INLINE void
interleave(const element* from, int64_t distance, int64_t n, element* to)
{
    for (int64_t t = 0; t < n; t++)
        for (int i = 0; i < Columns; i++)
            to[t * Columns + i] = from[i * distance + t];
}

// Interleaves `width` columns of n samples from `begin` on, a multiple of the elements of
// a vector. Of fewer than those elements, what is written behind a sample is overwritten
// by the next one.
template <class element>
APERTURE_INLINE void interleave_squares(const element* from,
                                        int64_t distance,
                                        int width,
                                        int64_t columns,
                                        int64_t begin,
                                        int64_t n,
                                        element* to)
{
    typename vector_of<element>::type v[side<element>] = {};
    for (int64_t t = begin; t < begin + n; t += side<element>) {
        for (int i = 0; i < width; i++)
            std::memcpy(&v[i], from + i * distance + t, sizeof v[i]);
        for (int i = width; i < side<element>; i++)
            v[i] = v[i] ^ v[i];
        kernels::transpose_square(v);
        for (int i = 0; i < side<element>; i++)
            std::memcpy(to + (t + i) * columns, &v[i], sizeof v[i]);
    }
}

template <class element>
APERTURE_INLINE void
interleave_all(const element* from, int64_t distance, int columns, int64_t n, element* to)
{
    switch (columns) {
    case 1:
        return interleave<1>(from, distance, n, to);
    case 2:
        return interleave<2>(from, distance, n, to);
    case 4:
        return interleave<4>(from, distance, n, to);
    }
    constexpr int most = side<element>;
    const int width = std::min(columns, most);
    const int64_t behind = width == most ? 0 : (most - width + columns - 1) / columns;
    const int64_t whole = std::max<int64_t>(0, n - behind) / most * most;
    const int64_t times =
        std::max<int64_t>(1, cached_bytes / (columns * int64_t(sizeof(element)) * most)) *
        most;
    for (int64_t begin = 0; begin < whole; begin += times)
        for (int done = 0; done < columns; done += width) {
            const int c = std::min(done, columns - width);
            interleave_squares(from + c * distance,
                               distance,
                               width,
                               columns,
                               begin,
                               std::min(times, whole - begin),
                               to + c);
        }
    for (int64_t t = whole; t < n; t++)
        for (int64_t i = 0; i < columns; i++)
            to[t * columns + i] = from[i * distance + t];
}

// The attribute that makes a version for each processor cannot stand before a template.
#define APERTURE_COLUMNS(element)                                                   \
    APERTURE_SIMD void take_of(const element* from,                                 \
                               int64_t stride,                                      \
                               const int64_t* columns,                              \
                               int count,                                           \
                               int64_t n,                                           \
                               char* const* to)                                     \
    {                                                                               \
        take_all(from, stride, columns, count, n, to);                              \
    }                                                                               \
    APERTURE_SIMD void interleave_of(                                               \
        const element* from, int64_t distance, int columns, int64_t n, element* to) \
    {                                                                               \
        interleave_all(from, distance, columns, n, to);                             \
    }
APERTURE_COLUMNS(uint8_t)
APERTURE_COLUMNS(uint16_t)
APERTURE_COLUMNS(uint32_t)
APERTURE_COLUMNS(uint64_t)
#undef APERTURE_COLUMNS

// Calls one of these for the samples' size.
template <class call>
void with_element(size_t size, const call& c)
{
    switch (size) {
    case 1:
        return c(uint8_t());
    case 2:
        return c(uint16_t());
    case 4:
        return c(uint32_t());
    case 8:
        return c(uint64_t());
    }
    throw std::logic_error("no samples of this size");
}

} // namespace

void take_column(const void* from, int64_t stride, int64_t n, size_t size, void* to)
{
    constexpr int64_t first = 0;
    auto* const column = static_cast<char*>(to);
    with_element(size, [&](auto element) {
        take_of(
            static_cast<const decltype(element)*>(from), stride, &first, 1, n, &column);
    });
}

void take_columns(const void* from,
                  int64_t stride,
                  const std::vector<int64_t>& columns,
                  int64_t n,
                  size_t size,
                  const std::vector<char*>& to)
{
    with_element(size, [&](auto element) {
        take_of(static_cast<const decltype(element)*>(from),
                stride,
                columns.data(),
                int(columns.size()),
                n,
                to.data());
    });
}

void interleave_columns(
    const void* from, int64_t distance, int columns, int64_t n, size_t size, void* to)
{
    with_element(size, [&](auto element) {
        interleave_of(static_cast<const decltype(element)*>(from),
                      distance,
                      columns,
                      n,
                      static_cast<decltype(element)*>(to));
    });
}

} // namespace gr::aperture::formats
