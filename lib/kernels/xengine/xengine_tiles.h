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
 * Products of a tile of inputs a with a tile of inputs b over some time.
 *
 * A row holds the voltages of one input, re and im in turn, so that the dot product of
 * two rows is the real part of the sum of x_a conj(x_b). With a turned (im, -re) it is
 * the imaginary part.
 */
template <class element, class sum>
struct tile_kernel {
    int rows, columns; //!< of the tile: inputs a, inputs b
    int lanes;         //!< `length` is a multiple of this
    //! a, turned: [rows][stride], b: [columns][stride] -> re, im: [rows][columns]
    void (*run)(const element* a,
                const element* turned,
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
        integer; //!< exact for up to 2^16 products of 8-bit numbers
    tile_kernel<float, float> real;
};

// each compiled for its own instructions; only those that are supported may be run
extern const tile_kernels generic_tiles;
#if defined(__x86_64__)
extern const tile_kernels avx2_tiles, avx512_tiles;
#endif

/*!
 * The loop behind all of them. `unit` says what a vector is: types element, sum, vector;
 * lanes; zero(), load(p), multiply_add(sum, a, b), total(sum). No other header with code
 * in it may be included where this is compiled for special instructions: the linker could
 * pick that copy of an inline function for everybody.
 */
template <class unit, int Rows, int Columns>
void tile(const typename unit::element* a,
          const typename unit::element* turned,
          const typename unit::element* b,
          size_t stride,
          size_t length,
          typename unit::sum* re,
          typename unit::sum* im)
{
    using vector = typename unit::vector;
    vector sum_re[Rows][Columns], sum_im[Rows][Columns];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; r++)
#pragma GCC unroll 8
        for (int c = 0; c < Columns; c++)
            sum_re[r][c] = sum_im[r][c] = unit::zero();
    for (size_t i = 0; i < length; i += unit::lanes) {
        vector row[Rows], row_turned[Rows];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; r++) {
            row[r] = unit::load(a + r * stride + i);
            row_turned[r] = unit::load(turned + r * stride + i);
        }
#pragma GCC unroll 8
        for (int c = 0; c < Columns; c++) {
            const vector column = unit::load(b + c * stride + i);
#pragma GCC unroll 8
            for (int r = 0; r < Rows; r++) {
                sum_re[r][c] = unit::multiply_add(sum_re[r][c], row[r], column);
                sum_im[r][c] = unit::multiply_add(sum_im[r][c], row_turned[r], column);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; r++)
#pragma GCC unroll 8
        for (int c = 0; c < Columns; c++) {
            re[r * Columns + c] = unit::total(sum_re[r][c]);
            im[r * Columns + c] = unit::total(sum_im[r][c]);
        }
}

template <class unit, int Rows, int Columns>
constexpr tile_kernel<typename unit::element, typename unit::sum> make_tile_kernel()
{
    return { Rows, Columns, unit::lanes, tile<unit, Rows, Columns> };
}

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_XENGINE_TILES_H */
