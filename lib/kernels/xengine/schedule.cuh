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
 * Which thread block has which job of which channel and part of the time. The time of the
 * last channels is split finer: jobs that differ do not end together, and as many jobs as
 * there are may leave thread blocks without one at the end. The longest jobs are the
 * first ones, and of the last channels all parts of these come first. (Where a cluster of
 * thread blocks shares a job, the cluster is what this calls a block.)
 */
class schedule
{
public:
    //! A thread block's part of the work; steps of time.
    struct part {
        int job, channel, begin, count;
    };

    schedule() = default;
    /*!
     * \param jobs of a channel
     * \param steps of time in all; none sums over more than `longest`
     * \param slots thread blocks at a time
     * \param start of a thread block, and its end, in steps
     */
    schedule(int channels, int jobs, int steps, int longest, int slots, int start)
        : d_jobs(jobs), d_steps(steps), d_coarse_channels(channels)
    {
        const auto split = [&](int of_channels) {
            return choose_splits(
                int64_t(of_channels) * jobs, steps, longest, slots, start);
        };
        const auto waves = [&](int of_channels, int splits) {
            return (int64_t(of_channels) * jobs * splits + slots - 1) / slots;
        };
        const auto cost = [&](int of_channels, int splits) {
            return waves(of_channels, splits) * (division(splits, steps).length + start);
        };
        const int least = (steps + longest - 1) / longest;
        int splits = split(channels), fine_splits = 4 * splits;
        if (jobs > 1) {
            // whole waves do not count then, but for so few that the end is much of all
            if (waves(channels, least) > 3) {
                splits = least;
                fine_splits = 4 * splits;
            }
            if (division(fine_splits, steps).length > 2 * start)
                d_coarse_channels -= std::min(slots / 2 / (jobs * splits), channels / 2);
        } else { // as many as keep all busy, and then the others
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
        d_coarse_blocks = d_coarse_channels * jobs * splits;
        d_blocks = d_coarse_blocks + (channels - d_coarse_channels) * jobs * fine_splits;
    }
    int blocks() const { return d_blocks; }

    __device__ part of(int block) const
    {
        const bool is_coarse = block < d_coarse_blocks;
        const division& d = is_coarse ? d_coarse : d_fine;
        part p;
        int group; // channels and parts of them
        if (is_coarse) {
            p.job = block % d_jobs;
            group = block / d_jobs;
        } else {
            const int groups = (d_blocks - d_coarse_blocks) / d_jobs;
            p.job = (block - d_coarse_blocks) / groups;
            group = (block - d_coarse_blocks) % groups;
        }
        p.channel = group / d.splits + (is_coarse ? 0 : d_coarse_channels);
        p.begin = group % d.splits * d.length;
        p.count = max(0, min(d.length, d_steps - p.begin));
        return p;
    }

private:
    //! The last part may be shorter, or empty.
    struct division {
        int splits, length;
        division() = default;
        division(int splits, int steps)
            : splits(splits), length((steps + splits - 1) / splits)
        {
        }
    };
    int d_jobs, d_steps, d_coarse_channels, d_coarse_blocks, d_blocks;
    division d_coarse, d_fine;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_SCHEDULE_CUH */
