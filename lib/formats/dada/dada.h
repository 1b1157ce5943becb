/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_DADA_H
#define INCLUDED_APERTURE_FORMATS_DADA_H

#include "formats/coding.h"
#include "formats/exact_time.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gr::aperture::formats {

/*!
 * The contents of a PSRDADA file: an ASCII header of HDR_SIZE bytes with a keyword and a
 * value on each line, then samples, time slowest: `[time][antenna][polarisation][re,
 * im]`.
 */
struct dada_file {
    std::string name;
    std::map<std::string, std::string> header; //!< keyword -> value, comments removed
    int64_t header_bytes = 0;
    //! Bits of a component: 8 or 16, two's complement, or 32, a float.
    int bits = 8;
    int dimensions = 2;   //!< 2: complex samples, 1: real ones
    int64_t antennas = 1; //!< NANT
    int64_t inputs = 1;   //!< NANT NPOL: signals that are interleaved
    bool big_endian = false;
    ratio rate{ 1, 1 }; //!< samples a second of one input
    double center = 0;  //!< Hz, middle of the band
    //! Bandwidth in Hz; negative if the sky frequency falls as that of the baseband
    //! rises.
    double bandwidth = 0;
    exact_time start;    //!< time of the first sample in this file
    int64_t samples = 0; //!< whole samples of each input in the file
    //! Says what is missing or contradictory, but does not prevent reading; may be empty.
    std::vector<std::string> warnings;

    bool inverted() const { return bandwidth < 0; }
    bool complex() const { return dimensions == 2; }
    //! Returns the bytes of one sample of one input.
    int64_t sample_bytes() const { return int64_t(bits) / 8 * dimensions; }
    //! Returns the bytes of one sample of each input.
    int64_t item_bytes() const { return sample_bytes() * inputs; }
    formats::coding coding() const
    {
        return bits == 8    ? coding::s8
               : bits == 16 ? big_endian ? coding::s16_be : coding::s16
               : big_endian ? coding::f32_be
                            : coding::f32;
    }
};

/*!
 * Reads the header and the size of a PSRDADA file.
 *
 * The rate is 1/TSAMP, and has to agree with BW (2 BW for real samples) within 1e-3. The
 * one of them that is written with fewer digits is taken as exact: the other is its
 * rounded inverse. The start is UTC_START (with PICOSECONDS where given) rather than
 * MJD_START, because recordings start on a tick of a second, which decimals of a second
 * can write exactly and decimals of a day cannot; MJD_START is used where UTC_START is
 * missing. The file begins OBS_OFFSET bytes after that, leap seconds counted.
 *
 * Samples are little-endian, or, with ENDIAN BIG, big-endian. ORDER, where it is given,
 * has to be that of the samples above, except for axes of length one. BYTES_PER_SECOND is
 * compared with the other keys.
 *
 * FILE_SIZE is compared with the size of the file, and counts the bytes behind the header
 * or those of the whole file: both are in use.
 *
 * \throws std::invalid_argument naming file, key, value and what is allowed
 * \throws std::runtime_error if the file cannot be read
 */
dada_file open_dada(const std::string& filename);

//! Returns keywords and values of a header; of a repeated keyword the first one counts.
std::map<std::string, std::string> parse_dada_header(const std::string& text);

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_DADA_H */
