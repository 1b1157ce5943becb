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

//! A run of times that is written at once, within a frame or over several frames.
struct part_of_frames {
    int64_t done;  //!< times before them
    int64_t frame; //!< frame that they begin in
    int first;     //!< first time in that frame
    int times;     //!< times in each frame: all, if there are several
    int frames;    //!< number of frames in a row
};

/*!
 * Splits `count` times, of which the first is time `first` of frames of so many `times`,
 * into runs: whole frames together, up to `most_frames`, and the times within one.
 * \param put is called with each run, in order
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
