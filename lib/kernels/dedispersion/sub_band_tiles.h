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
 * The tiles of a sub_band_plan on a GPU, one for each thread block. A *word* is what a
 * thread adds at once: the powers of one time, or of two times that lie half of a call
 * apart. All places in shared memory are in words.
 */

//! Tiles of paths of a sub-band, which thread blocks sum from shared memory.
struct path_tiles {
    struct tile {
        int sub_band, channels;
        int first_path, paths;
        int first, last; //!< least and greatest offset of the paths
    };
    struct channel {
        int delay; //!< delay of the first word in shared memory, behind that of the tile
        int place;
        int words;
    };
    int times;       //!< words of a path that a thread block sums
    int shared_size; //!< words of shared memory for channels
    std::vector<tile> tiles;
    std::vector<channel> channels; //!< [tile][width]
    std::vector<int> places;       //!< [path][width]: place where a path begins
    //! A tile and the word, behind that of its least offset, that a thread block begins
    //! with, for calls of as many words as path_tiles was made for.
    struct block {
        int tile, word;
    };
    std::vector<block> blocks;
    int most_paths; //!< paths of a tile at most

    path_tiles(const sub_band_plan& plan, int channels, int64_t words);
};

//! The places of the rows of paths.
struct path_rows {
    struct row {
        int64_t place;
        int first;  //!< offset of the path at which it begins
        int longer; //!< words beyond those of a call
    };
    std::vector<row> rows; //!< row of each path
    int64_t size;          //!< words of all rows of a beam

    //! \param words largest number of words of a call
    path_rows(const sub_band_plan& plan, int64_t words);
};

//! Tiles of trials: the trials that a thread block sums, from rows in shared memory, some
//! sub-bands in each step.
struct trial_tiles {
    static constexpr int most_trials = 16; //!< trials of a tile at most
    static constexpr int step = 2;         //!< sub-bands of a step
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
    std::vector<int> first_piece; //!< index of [tile][step], and the number of all
    std::vector<int> places;      //!< [tile][step][trial][sub-band of the step]

    trial_tiles(const sub_band_plan& plan, const path_rows& rows);
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_DEDISPERSION_SUB_BAND_TILES_H */
