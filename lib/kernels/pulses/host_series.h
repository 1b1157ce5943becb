/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PULSES_HOST_SERIES_H
#define INCLUDED_APERTURE_KERNELS_PULSES_HOST_SERIES_H

#include "kernels/pulses/largest_sum.h"
#include "kernels/pulses/pulse_search.h"
#include <array>
#include <vector>

namespace gr::aperture::kernels::host {

//! Boxcars, as they are looked for.
class boxcar_set
{
public:
    explicit boxcar_set(const std::vector<boxcar>& all);

    //! The running sums of one level, in the order of boxcars().
    struct of_level {
        int first; //!< place in boxcars()
        std::vector<int> units;
        std::vector<float> scales; //!< 1 / sqrt(width)
    };
    const std::vector<of_level>& levels() const { return d_levels; }
    size_t size() const { return d_size; }

private:
    const size_t d_size;
    std::vector<of_level> d_levels;
};

/*!
 * The mean and the variance of the groups of a series, and what follows from them. See
 * pulse_search.
 */
class running_baseline
{
public:
    explicit running_baseline(const window_bins& w);

    void reset();
    //! \returns whether the group is there
    bool add(const float* group);
    //! Up to the last group; false: nothing is known yet.
    bool level(float& baseline, float& sigma);

private:
    struct bin {
        float mean, variance;
    };

    const window_bins d_window;
    const double d_median; // median_of_variance()
    std::vector<bin> d_bins;
    size_t d_next = 0; // bin that is overwritten next, once all are there
    // the bin that is being filled
    double d_mean = 0, d_variance = 0;
    int d_seen = 0, d_there = 0; // groups
    std::vector<float> d_sorted;
};

//! The state of one beam and trial.
class host_series
{
public:
    //! Memory that a thread has, for one series after the other.
    struct workspace {
        explicit workspace(const boxcar_set& boxcars)
            : raw(tile_values), above(boxcars.size())
        {
            for (int level = 0; level < most_levels; level++)
                sums[level].resize(most_units + (tile_values >> level) + 1 +
                                   segment_ends);
        }

        std::vector<float> raw;
        std::array<std::vector<float>, most_levels> sums;
        std::array<std::vector<float>, most_levels> largest;
        // takes the cells that were found
        std::vector<pulse_search::cell> cells;
        std::vector<uint64_t> above;
    };

    host_series(const window_bins& w, int number);

    void reset();
    void search(
        const float* values, int count, const boxcar_set&, float threshold, workspace&);
    void flush(const boxcar_set&, float threshold, workspace&);

private:
    //! \param first of the tile, behind the beginning of the item
    //! \param known groups of which the rest is made up
    void search_tile(const float* values,
                     int groups,
                     int first,
                     const boxcar_set&,
                     float threshold,
                     workspace&);
    void make_sums(const float* values, int groups, size_t levels, workspace&);
    void
    find_cells(int groups, int first, const boxcar_set&, float threshold, workspace&);

    const int d_number;
    running_baseline d_baseline;
    int d_left = 0; // values that wait for the rest of their group
    std::array<float, group_values> d_waiting{};
    //! The running sums at the last 64 places of each level, less the one at the end.
    std::array<std::array<float, most_units>, most_levels> d_history{};
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_HOST_SERIES_H */
