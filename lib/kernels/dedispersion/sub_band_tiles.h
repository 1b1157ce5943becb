/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DEDISPERSION_SUB_BAND_TILES_H
#define INCLUDED_APERTURE_KERNELS_DEDISPERSION_SUB_BAND_TILES_H

#include "kernels/dedispersion/sub_bands.h"
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * How a GPU's thread blocks share the work of a sub_band_plan. A *word* is what a thread
 * adds at once: the powers of one time, or of two times that lie half of a call apart.
 * All places in shared memory are in words.
 */

//! Paths of a sub-band that a thread block sums, out of channels in shared memory.
struct path_tiles {
    struct tile {
        int sub_band, channels;
        int first_path, paths;
        int first, last; //!< least and greatest offset of the paths
    };
    struct channel {
        int delay; //!< of the first word in shared memory, behind that of the tile
        int place;
        int words;
    };
    int times;       //!< words of a path that a thread block sums
    int shared_size; //!< words of shared memory for channels
    std::vector<tile> tiles;
    std::vector<channel> channels; //!< [tile][width]
    std::vector<int> places;       //!< [path][width]: where a path begins
    //! Tiles and the word, behind that of their least offset, that a thread block begins
    //! with; of calls of so many words as path_tiles was made for.
    struct block {
        int tile, word;
    };
    std::vector<block> blocks;
    int most_paths; //!< of a tile

    path_tiles(const sub_band_plan& plan, int channels, int64_t words);
};

//! Where the rows of paths lie.
struct path_rows {
    struct row {
        int64_t place;
        int first;  //!< offset of the path at which it begins
        int longer; //!< words more than a call has
    };
    std::vector<row> rows; //!< of each path
    int64_t size;          //!< words of all, of a beam

    //! \param words most of a call
    path_rows(const sub_band_plan& plan, int64_t words);
};

//! Trials that a thread block sums, out of rows in shared memory; some sub-bands a step.
struct trial_tiles {
    static constexpr int most_trials = 16; //!< of a tile
    static constexpr int step = 2;         //!< sub-bands
    static constexpr int times = 512;      //!< words of a trial that a thread block sums

    //! A part of a row for shared memory. Both are multiples of 4 words, as is `place`.
    struct piece {
        int64_t from;
        int place, words;
    };
    int steps;
    int shared_size; //!< words of shared memory of a step
    struct tile {
        int first_trial, trials;
    };
    std::vector<tile> tiles;
    std::vector<piece> pieces;
    std::vector<int> first_piece; //!< of [tile][step], and how many there are
    std::vector<int> places;      //!< [tile][step][trial][sub-band of the step]

    trial_tiles(const sub_band_plan& plan, const path_rows& rows);
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_DEDISPERSION_SUB_BAND_TILES_H */
