/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_SCHEDULE_CUH
#define INCLUDED_APERTURE_KERNELS_XENGINE_SCHEDULE_CUH

#include "kernels/xengine/integer_xengine.h"
#include <algorithm>

namespace gr::aperture::kernels::cuda {

/*!
 * Tile scheduler: which thread block has which work tile of which channel and part of the
 * time. The time of the last channels is split into more parts (split-K), because work
 * tiles that differ do not end together, and because at the end there may be fewer work
 * tiles than thread blocks. The longest work tiles are the first ones, and all parts of
 * those of the last channels come first. (Where a cluster of thread blocks shares a work
 * tile, this class calls the cluster a thread block.)
 */
class schedule
{
public:
    //! A thread block's part of the work: a work tile of a channel, `count` steps of the
    //! time from `begin` on.
    struct part {
        int work_tile, channel, begin, count;
    };

    schedule() = default;
    /*!
     * Plans the work.
     * \param work_tiles of a channel
     * \param steps of the time in all; no part sums over more than `longest`
     * \param slots thread blocks that run at a time
     * \param start steps that take as long as a thread block's prologue and epilogue
     */
    schedule(int channels, int work_tiles, int steps, int longest, int slots, int start)
        : d_work_tiles(work_tiles), d_steps(steps), d_coarse_channels(channels)
    {
        const auto split = [&](int of_channels) {
            return choose_splits(
                int64_t(of_channels) * work_tiles, steps, longest, slots, start);
        };
        const auto waves = [&](int of_channels, int splits) {
            return (int64_t(of_channels) * work_tiles * splits + slots - 1) / slots;
        };
        const auto cost = [&](int of_channels, int splits) {
            return waves(of_channels, splits) * (division(splits, steps).length + start);
        };
        const int least = (steps + longest - 1) / longest;
        int splits = split(channels), fine_splits = 4 * splits;
        if (work_tiles > 1) {
            // With a split, whole waves do not matter, unless there are so few that their
            // end is much of all.
            if (waves(channels, least) > 3) {
                splits = least;
                fine_splits = 4 * splits;
            }
            if (division(fine_splits, steps).length > 2 * start)
                d_coarse_channels -=
                    std::min(slots / 2 / (work_tiles * splits), channels / 2);
        } else { // enough to keep all busy, and then the others
            const int full = channels * least / slots * slots / least;
            const int left = channels - full, finer = split(left);
            if (left > 0 &&
                cost(full, least) + cost(left, finer) < 0.99 * cost(channels, splits)) {
                d_coarse_channels = full;
                splits = least;
                fine_splits = finer;
            }
        }
        d_coarse = division(splits, steps);
        d_fine = division(fine_splits, steps);
        d_coarse_blocks = d_coarse_channels * work_tiles * splits;
        d_blocks =
            d_coarse_blocks + (channels - d_coarse_channels) * work_tiles * fine_splits;
    }
    int blocks() const { return d_blocks; }

    __device__ part of(int block) const
    {
        const bool is_coarse = block < d_coarse_blocks;
        const division& d = is_coarse ? d_coarse : d_fine;
        part p;
        int group; // channels and parts of them
        if (is_coarse) {
            p.work_tile = block % d_work_tiles;
            group = block / d_work_tiles;
        } else {
            const int groups = (d_blocks - d_coarse_blocks) / d_work_tiles;
            p.work_tile = (block - d_coarse_blocks) / groups;
            group = (block - d_coarse_blocks) % groups;
        }
        p.channel = group / d.splits + (is_coarse ? 0 : d_coarse_channels);
        p.begin = group % d.splits * d.length;
        p.count = max(0, min(d.length, d_steps - p.begin));
        return p;
    }

private:
    //! Returns the length of a part; the last one may be shorter, or empty.
    struct division {
        int splits, length;
        division() = default;
        division(int splits, int steps)
            : splits(splits), length((steps + splits - 1) / splits)
        {
        }
    };
    int d_work_tiles, d_steps, d_coarse_channels, d_coarse_blocks, d_blocks;
    division d_coarse, d_fine;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_SCHEDULE_CUH */
