/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_PIECE_READER_H
#define INCLUDED_APERTURE_FORMATS_PIECE_READER_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gr::aperture::formats {

/*!
 * Reads what a recording holds, time after time: of each input a sample, or a spectrum of
 * channels, which is called a sample here, too. What is in no piece, or NaN or infinite,
 * becomes zeros.
 */
class piece_reader
{
public:
    virtual ~piece_reader() = default;

    //! Returns how many threads read.
    virtual int threads() const { return 1; }
    //! Returns how many samples a call should ask for: with fewer, more is copied.
    virtual int64_t samples_wanted() const { return 1; }
    //! Begins anew at a sample, and forgets an error.
    virtual void restart(int64_t sample) = 0;
    //! Returns the index of the next sample.
    virtual int64_t position() const = 0;

    //! Samples of an input that are zeros because no piece has them, or because they, or
    //! some within so many samples that no spectrum fits between, are NaN or infinite.
    struct gap {
        int input;
        int64_t first; //!< counted from the first sample of the call
        int64_t count;
    };
    struct result {
        int64_t samples;       //!< samples of each input
        bool jumped;           //!< a gap before them was passed over
        std::vector<gap> gaps; //!< gaps in them
        //! Samples in a row that are NaN or infinite: their beginning and number.
        std::vector<gap> not_numbers;
        //! Inputs, and how many of their samples became the highest integer, since their
        //! imaginary part is the lowest, which has no negative.
        std::vector<std::pair<int, uint64_t>> clamped;
    };
    /*!
     * Reads up to `samples` samples of each input, not beyond number `end`. There are
     * fewer before a long gap and at the end, where none follow, or after an error.
     * \param ports for each, where its items go
     */
    virtual result
    read(const std::vector<char*>& ports, int64_t samples, int64_t end) = 0;
    //! Says why reading ended before its time; empty if it did not.
    virtual const std::string& error() const = 0;
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_PIECE_READER_H */
