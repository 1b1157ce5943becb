/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_XENGINE_TILES_H
#define INCLUDED_APERTURE_KERNELS_XENGINE_XENGINE_TILES_H

#include <cstddef>
#include <cstdint>

namespace gr::aperture::kernels::host {

/*!
 * A kernel that multiplies a tile of inputs a with a tile of inputs b over some time. A
 * row holds the voltages of one input, re and im in turn, so that the dot product of two
 * rows is the real part of the sum of x_a conj(x_b). With a multiplied by -i (im, -re) it
 * is the imaginary part.
 */
template <class element, class sum>
struct tile_kernel {
    int rows, columns; //!< inputs a and inputs b of the tile
    int lanes;         //!< `length` is a multiple of this
    //! Multiplies a, times_minus_i: [rows][stride], with b: [columns][stride] -> re, im:
    //! [rows][columns].
    void (*run)(const element* a,
                const element* times_minus_i,
                const element* b,
                size_t stride,
                size_t length,
                sum* re,
                sum* im);
};

//! The kernels for one kind of vector instructions.
struct tile_kernels {
    const char* name;
    bool (*supported)();
    tile_kernel<int16_t, int32_t>
        integer; //!< exact for up to 2^16 products of 8-bit integers
    tile_kernel<float, float> real;
};

// each compiled for its own instructions; only those that are supported may be run
extern const tile_kernels generic_tiles;
#if defined(__x86_64__)
extern const tile_kernels avx2_tiles, avx512_tiles;
#endif

/*!
 * The loop of all of them. `vectors` defines the vectors: types element, sum, vector;
 * lanes; zero(), load(p), multiply_add(sum, a, b), total(sum). No other header with code
 * in it may be included where this is compiled for special instructions: the linker could
 * choose that copy of an inline function for all files.
 */
template <class vectors, int Rows, int Columns>
void tile(const typename vectors::element* a,
          const typename vectors::element* times_minus_i,
          const typename vectors::element* b,
          size_t stride,
          size_t length,
          typename vectors::sum* re,
          typename vectors::sum* im)
{
    using vector = typename vectors::vector;
    vector sum_re[Rows][Columns], sum_im[Rows][Columns];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; r++)
#pragma GCC unroll 8
        for (int c = 0; c < Columns; c++)
            sum_re[r][c] = sum_im[r][c] = vectors::zero();
    for (size_t i = 0; i < length; i += vectors::lanes) {
        vector row[Rows], row_times_minus_i[Rows];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; r++) {
            row[r] = vectors::load(a + r * stride + i);
            row_times_minus_i[r] = vectors::load(times_minus_i + r * stride + i);
        }
#pragma GCC unroll 8
        for (int c = 0; c < Columns; c++) {
            const vector column = vectors::load(b + c * stride + i);
#pragma GCC unroll 8
            for (int r = 0; r < Rows; r++) {
                sum_re[r][c] = vectors::multiply_add(sum_re[r][c], row[r], column);
                sum_im[r][c] =
                    vectors::multiply_add(sum_im[r][c], row_times_minus_i[r], column);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; r++)
#pragma GCC unroll 8
        for (int c = 0; c < Columns; c++) {
            re[r * Columns + c] = vectors::total(sum_re[r][c]);
            im[r * Columns + c] = vectors::total(sum_im[r][c]);
        }
}

template <class vectors, int Rows, int Columns>
constexpr tile_kernel<typename vectors::element, typename vectors::sum> make_tile_kernel()
{
    return { Rows, Columns, vectors::lanes, tile<vectors, Rows, Columns> };
}

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_XENGINE_TILES_H */
