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

//! Times of a row of frames that are put at once.
struct part_of_frames {
    int64_t done;  //!< times before them
    int64_t frame; //!< that they begin in
    int first;     //!< time of that frame
    int times;     //!< of each frame: all, if several
    int frames;    //!< in a row
};

/*!
 * What `count` times, of which the first is time `first` of frames of so many `times`,
 * are put in: whole frames together, up to `most_frames`, and what lies within one.
 * \param put is told each part, one after the other
 */
template <class Put>
void each_part_of_frames(
    int64_t first, int64_t count, int times, int64_t most_frames, Put put)
{
    for (int64_t done = 0; done < count;) {
        const int64_t time = first + done, left = count - done;
        const int begin = int(time % times);
        const int each = int(std::min<int64_t>(left, times - begin));
        const int frames =
            each == times ? int(std::clamp<int64_t>(left / times, 1, most_frames)) : 1;
        put(part_of_frames{ done, time / times, begin, each, frames });
        done += int64_t(each) * frames;
    }
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_PARTS_OF_FRAMES_H */
