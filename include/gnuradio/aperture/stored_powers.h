/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STORED_POWERS_H
#define INCLUDED_APERTURE_STORED_POWERS_H

#include <gnuradio/aperture/api.h>
#include <cstdint>

/*!
 * Powers as files store them, in few bits or as floats: SIGPROC's filterbank files and
 * PSRFITS in search mode.
 */
namespace gr::aperture::stored_powers {

//! The form in which a file has the numbers of a row of channels.
struct coding {
    int bits;        //!< 1, 2, 4, 8 or 16: integers; 32: floats
    bool is_signed;  //!< integers are two's complement
    bool big_endian; //!< high bytes, and in a byte the highest bits, come first
    bool descending; //!< the highest channel comes first
};

/*!
 * The powers that numbers stand for: (number - zero) * scale + offset. Both arrays are
 * [row][channel], channels ascending, for rows that take turns: the products of a sample.
 */
struct levels {
    int64_t rows;
    float zero;
    const float* scale;  //!< null: 1
    const float* offset; //!< null: 0
};

//! \throws std::invalid_argument if there are no numbers of so many bits
APERTURE_API void check_bits(int bits);

/*!
 * Converts what a file stores to powers.
 * \param file rows follow on each other, also within a byte
 * \param powers [row][channel], channels ascending
 */
APERTURE_API void unpack(const coding& how,
                         const void* file,
                         int64_t rows,
                         int64_t channels,
                         const levels& scaling,
                         float* powers);

/*!
 * Converts powers to what a file stores: (power - offset) / step in double precision,
 * rounded half to even, clamped to the numbers that there are; what is not a number
 * becomes the lowest. Floats are stored as they are.
 * \param powers [row][channel], channels ascending
 * \param offset, step [level_rows][channel], for rows that take turns; of floats not read
 * \param file as many bytes as all rows have, the last one filled with zeros
 */
APERTURE_API void pack(const coding& how,
                       const float* powers,
                       int64_t rows,
                       int64_t channels,
                       const double* offset,
                       const double* step,
                       int64_t level_rows,
                       void* file);

/*!
 * Describes each cell of samples: the lowest and highest power, the mean and the standard
 * deviation. NaN is passed over in the first two.
 * \param powers [sample][cell]; there is one sample at least
 * \returns whether all powers are finite; otherwise mean and deviation mean nothing
 */
APERTURE_API bool describe(const float* powers,
                           int64_t samples,
                           int64_t cells,
                           float* lowest,
                           float* highest,
                           double* mean,
                           double* deviation);

} // namespace gr::aperture::stored_powers

#endif /* INCLUDED_APERTURE_STORED_POWERS_H */
