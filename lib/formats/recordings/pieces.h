/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_PIECES_H
#define INCLUDED_APERTURE_FORMATS_PIECES_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gr::aperture::formats {

class thread_pool;

//! Samples in a row in a file: of all inputs of a *set*, which were recorded together.
struct piece {
    int file;
    int64_t offset;  //!< offset of the first sample in bytes
    int64_t samples; //!< samples of each input
    int64_t first;   //!< index of the first sample on the clock of the recording
    //! Samples of a channel in a row of the block that the piece is of, where rows of
    //! channels follow each other; 0: those of the piece.
    int64_t row = 0;
    int64_t row_samples() const { return row ? row : samples; }
    int64_t end() const { return first + samples; }
};

//! The places of the samples of a recording.
class pieces
{
public:
    virtual ~pieces() = default;

    //! Begins anew.
    virtual void restart() = 0;
    //! Lets threads read what will be needed to find the pieces before a sample.
    virtual void look_ahead(thread_pool&, int64_t) {}
    //! Returns the index of the sample behind the last one of all sets, or of one that
    //! lies at or behind `wanted`, if there are more.
    virtual int64_t end(int64_t wanted) = 0;

    struct answer {
        //! The first piece of the set that ends behind the sample; nothing: see below.
        std::optional<piece> next;
        //! Without a piece: the sample up to which there is none.
        int64_t none_before;
    };
    //! Returns the first piece of a set at or behind a sample that was not released.
    virtual answer find(int set, int64_t sample) = 0;
    //! Releases the samples before this one: none is asked for until restart().
    virtual void release(int64_t sample) = 0;
    //! Says why no more pieces of a file can be found; may be empty.
    virtual std::string error() const { return {}; }
};

/*!
 * Returns the sample up to which none of the sets has any behind a position; nothing if
 * it is at most `most_gap` away, or nothing follows.
 */
std::optional<int64_t> end_of_long_gap(pieces& from,
                                       const std::vector<int>& sets,
                                       int64_t position,
                                       int64_t most_gap);

//! Pieces that are known from the start.
class listed_pieces : public pieces
{
public:
    //! \param list [set][piece], in order of time, without overlaps
    explicit listed_pieces(std::vector<std::vector<piece>> list);

    void restart() override {}
    int64_t end(int64_t) override { return d_end; }
    answer find(int set, int64_t sample) override;
    void release(int64_t) override {}

private:
    const std::vector<std::vector<piece>> d_list;
    int64_t d_end = 0;
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_PIECES_H */
