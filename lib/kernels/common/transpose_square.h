/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_TRANSPOSE_SQUARE_H
#define INCLUDED_APERTURE_KERNELS_COMMON_TRANSPOSE_SQUARE_H

#include <cstdint>

namespace gr::aperture::kernels {

// These vectors may lie anywhere in arrays of whatever type.
typedef uint8_t bytes16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t words8 __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint32_t words4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t words2 __attribute__((vector_size(16), aligned(8), may_alias));

//! Interleaves a0 b0 a1 b1 ..., of the first halves and of the second ones.
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

inline void interleave(words4& a, words4& b)
{
    const words4 first = __builtin_shuffle(a, b, words4{ 0, 4, 1, 5 });
    b = __builtin_shuffle(a, b, words4{ 2, 6, 3, 7 });
    a = first;
}

inline void interleave(words2& a, words2& b)
{
    const words2 first = __builtin_shuffle(a, b, words2{ 0, 2 });
    b = __builtin_shuffle(a, b, words2{ 1, 3 });
    a = first;
}

/*!
 * Transposes a square of as many rows as a vector has elements: in each round, each row
 * is interleaved with the one half a square below.
 */
template <class vector, int side>
inline void transpose_square(vector (&v)[side])
{
    for (int done = 1; done < side; done *= 2) {
        vector w[side];
        for (int i = 0; i < side / 2; i++) {
            w[2 * i] = v[i];
            w[2 * i + 1] = v[i + side / 2];
            interleave(w[2 * i], w[2 * i + 1]);
        }
        // one by one: a copy of all at once goes through memory
        for (int i = 0; i < side; i++)
            v[i] = w[i];
    }
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_TRANSPOSE_SQUARE_H */
