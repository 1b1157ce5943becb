/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_REHEARSED_SCHEDULE_CUH
#define INCLUDED_APERTURE_KERNELS_XENGINE_REHEARSED_SCHEDULE_CUH

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace gr::aperture::kernels::cuda {

/*!
 * Which thread block has which job of which channel and part of the time, so that all
 * multiprocessors, which have one thread block at a time each, are done at once.
 *
 * Blocks begin in their order, each where one has ended. So the host can rehearse a call,
 * and deal out the last jobs, the longest ones first, in such a way that a block has as
 * much of a job as there is time for until all end together; the next block has the rest.
 * That makes fewer blocks more than there are multiprocessors.
 */
class rehearsed_schedule
{
public:
    //! A thread block's part of the work; steps of time.
    struct part {
        int job, channel, begin, count;
    };
    //! How long a job takes, in any unit: a step of time, and a block's start and end.
    struct cost {
        double step, once;
        double of(int steps) const { return once + steps * step; }
    };

    rehearsed_schedule() = default;
    /*!
     * \param jobs of a channel, the longest ones first
     * \param steps of time in all; no block sums over more than `longest`
     */
    rehearsed_schedule(int channels,
                       const std::vector<cost>& jobs,
                       int steps,
                       int longest,
                       int multiprocessors)
        : d_jobs(int(jobs.size())),
          d_steps(steps),
          d_splits((steps + longest - 1) / longest),
          d_length((steps + d_splits - 1) / d_splits)
    {
        const int groups = channels * d_splits;
        d_last_groups = std::min(groups, (2 * multiprocessors + d_jobs - 1) / d_jobs);
        if (d_last_groups * d_jobs + multiprocessors > most_cuts)
            d_last_groups = 0;
        d_whole_groups = groups - d_last_groups;

        times free(std::greater<>{}, std::vector<double>(multiprocessors));
        double all = 0, most = 0;
        for (int group = 0; group < groups; group++)
            for (const auto& job : jobs) {
                const double time = job.of(length(group));
                all += time;
                most = std::max(most, time);
                if (group < d_whole_groups)
                    take(free, time);
            }
        double early = all / multiprocessors, late = early + most;
        while (!deal_out(jobs, free, late))
            late += most;
        while (late - early > most / 256) {
            const double middle = (early + late) / 2;
            (deal_out(jobs, free, middle) ? late : early) = middle;
        }
        deal_out(jobs, free, late);
    }
    int blocks() const { return d_whole_groups * d_jobs + d_last_blocks; }

    __device__ part of(int block) const
    {
        const int last = block - d_whole_groups * d_jobs;
        part p;
        int group;
        if (last < 0) {
            p.job = block % d_jobs;
            group = block / d_jobs;
            p.begin = 0;
            p.count = d_length;
        } else {
            const int cut = d_cuts[last], place = cut / d_length;
            p.job = place / d_last_groups;
            group = d_whole_groups + place % d_last_groups;
            p.begin = cut % d_length;
            p.count = min(d_cuts[last + 1] - cut, d_length - p.begin);
        }
        p.channel = group / d_splits;
        p.begin += group % d_splits * d_length;
        p.count = min(p.count, d_steps - p.begin);
        return p;
    }

private:
    //! When multiprocessors are free, the first one on top.
    using times = std::priority_queue<double, std::vector<double>, std::greater<>>;
    static void take(times& free, double time)
    {
        const double now = free.top();
        free.pop();
        free.push(now + time);
    }

    int length(int group) const
    {
        return std::min(d_length, d_steps - group % d_splits * d_length);
    }

    //! Deals out the last jobs; whether all can be done at the end.
    bool deal_out(const std::vector<cost>& jobs, times free, double end)
    {
        d_last_blocks = 0;
        for (int i = 0; i < d_last_groups * d_jobs; i++) {
            const cost& job = jobs[i / d_last_groups];
            const int steps = length(d_whole_groups + i % d_last_groups);
            for (int done = 0, count; done < steps; done += count) {
                while (!free.empty() && free.top() + job.of(1) > end)
                    free.pop(); // no use for this one any more
                if (free.empty() || d_last_blocks == most_cuts)
                    return false;
                count = int((end - free.top() - job.once) / job.step);
                count = std::clamp(count, 1, steps - done);
                d_cuts[d_last_blocks++] = i * d_length + done;
                take(free, job.of(count));
            }
        }
        d_cuts[d_last_blocks] = d_last_groups * d_jobs * d_length;
        return true;
    }

    //! What kernels' parameters have room for.
    static constexpr int most_cuts = 640;

    int d_jobs, d_steps;
    // of a channel's time, in which all its jobs are; a group of jobs has one of them
    int d_splits, d_length;
    int d_whole_groups, d_last_groups, d_last_blocks;
    int d_cuts[most_cuts + 1]; // where blocks begin, in a row of all last jobs' steps
};

//! Schedules of calls that differ in their steps of time only.
class rehearsed_schedules
{
public:
    rehearsed_schedules() = default;
    //! As for rehearsed_schedule.
    rehearsed_schedules(int channels,
                        std::vector<rehearsed_schedule::cost> jobs,
                        int longest,
                        int multiprocessors)
        : d_channels(channels),
          d_jobs(std::move(jobs)),
          d_longest(longest),
          d_multiprocessors(multiprocessors)
    {
    }
    //! Made when it is asked for first: that takes the host about as long as a call.
    const rehearsed_schedule& of(int steps)
    {
        const auto [found, is_new] = d_made.try_emplace(steps);
        if (is_new)
            found->second = rehearsed_schedule(
                d_channels, d_jobs, steps, d_longest, d_multiprocessors);
        return found->second;
    }

private:
    int d_channels;
    std::vector<rehearsed_schedule::cost> d_jobs;
    int d_longest, d_multiprocessors;
    std::map<int, rehearsed_schedule> d_made; // by steps
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_REHEARSED_SCHEDULE_CUH */
