/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FILE_ORDER_H
#define INCLUDED_APERTURE_FILE_ORDER_H

#include <gnuradio/aperture/api.h>
#include <cstdint>

/*!
 * What writers of files do with each element: they bring it into the file's order, and
 * into fewer bits. Strides are bytes.
 */
namespace gr::aperture::file_order {

//! Matrices whose rows are contiguous, one behind the other at a constant distance.
struct matrices {
    int64_t stride; //!< from one matrix to the next
    int64_t row;    //!< from one row to the next
};

/*!
 * Transposes matrices: to[m][c][r] = from[m][r][c].
 * \param rows, columns of those that are read
 * \param bytes of an element: 1, 2, 4, 8 or 16
 */
APERTURE_API void transpose(const void* from,
                            const matrices& read,
                            int64_t count,
                            int64_t rows,
                            int64_t columns,
                            void* to,
                            const matrices& written,
                            int bytes);

/*!
 * Converts powers to bytes: (power - offset) / step in double precision, rounded half to
 * even, within 0 and 255; 0 where it is not a number.
 * \param powers, offset, step, to `channels` of them in a row
 * \param descending whether the first channel comes last in `to`
 */
APERTURE_API void to_bytes(const float* powers,
                           const double* offset,
                           const double* step,
                           int64_t channels,
                           bool descending,
                           uint8_t* to);

} // namespace gr::aperture::file_order

#endif /* INCLUDED_APERTURE_FILE_ORDER_H */
