/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_PARTS_OF_FRAMES_H
#define INCLUDED_APERTURE_KERNELS_COMMON_PARTS_OF_FRAMES_H

#include <algorithm>
#include <cstdint>

namespace gr::aperture::kernels {

//! Times of a row of blocks that are put at once.
struct part_of_blocks {
    int64_t done;  //!< times before them
    int64_t block; //!< that they begin in
    int first;     //!< time of that block
    int times;     //!< of each frame: all, if several
    int blocks;    //!< in a row
};

/*!
 * What `count` times, of which the first is time `first` of blocks of so many `times`,
 * are put in: whole blocks together, up to `most_blocks`, and what lies within one.
 * \param put is told each part, one after the other
 */
template <class Put>
void each_part_of_blocks(
    int64_t first, int64_t count, int times, int64_t most_blocks, Put put)
{
    for (int64_t done = 0; done < count;) {
        const int64_t time = first + done, left = count - done;
        const int begin = int(time % times);
        const int each = int(std::min<int64_t>(left, times - begin));
        const int blocks =
            each == times ? int(std::clamp<int64_t>(left / times, 1, most_blocks)) : 1;
        put(part_of_blocks{ done, time / times, begin, each, blocks });
        done += int64_t(each) * blocks;
    }
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_PARTS_OF_FRAMES_H */
