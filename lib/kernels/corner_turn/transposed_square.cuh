/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CORNER_TURN_TRANSPOSED_SQUARE_CUH
#define INCLUDED_APERTURE_KERNELS_CORNER_TURN_TRANSPOSED_SQUARE_CUH

#include <cstdint>

namespace gr::aperture::kernels::cuda {

using sc8 = uint16_t; // both bytes of a voltage move together
using sc4 = uint8_t;  // both components move together

//! A square of voltages in registers, in rows of 16 bytes.
template <class voltage>
union transposed_square {
    static constexpr int side = sizeof(uint4) / sizeof(voltage);
    static constexpr int row_words = sizeof(uint4) / sizeof(uint32_t);
    uint4 rows[side];
    uint32_t words[side * row_words];
    voltage values[side][side];
    __device__ transposed_square() {}
};

//! Transposes rows of two-byte voltages: two of each word at a time.
__device__ __forceinline__ void transpose(const transposed_square<sc8>& from,
                                          transposed_square<sc8>& to)
{
#pragma unroll
    for (int c = 0; c < 8; c++)
#pragma unroll
        for (int t = 0; t < 8; t += 2)
            to.words[c * 4 + t / 2] = __byte_perm(from.words[t * 4 + c / 2],
                                                  from.words[(t + 1) * 4 + c / 2],
                                                  c % 2 ? 0x7632 : 0x5410);
}
//! Transposes squares of four times four bytes.
__device__ __forceinline__ void transpose(const transposed_square<sc4>& from,
                                          transposed_square<sc4>& to)
{
#pragma unroll
    for (int c = 0; c < 4; c++)
#pragma unroll
        for (int t = 0; t < 4; t++) {
            const uint32_t* rows = from.words + 4 * t * 4 + c;
            // columns 0 and 1, 2 and 3 of two rows each
            const uint32_t left = __byte_perm(rows[0], rows[4], 0x5140);
            const uint32_t right = __byte_perm(rows[0], rows[4], 0x7362);
            const uint32_t left_below = __byte_perm(rows[8], rows[12], 0x5140);
            const uint32_t right_below = __byte_perm(rows[8], rows[12], 0x7362);
            uint32_t* columns = to.words + 4 * c * 4 + t;
            columns[0] = __byte_perm(left, left_below, 0x5410);
            columns[4] = __byte_perm(left, left_below, 0x7632);
            columns[8] = __byte_perm(right, right_below, 0x5410);
            columns[12] = __byte_perm(right, right_below, 0x7632);
        }
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_CORNER_TURN_TRANSPOSED_SQUARE_CUH */
