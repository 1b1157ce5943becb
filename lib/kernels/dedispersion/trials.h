/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DEDISPERSION_TRIALS_H
#define INCLUDED_APERTURE_KERNELS_DEDISPERSION_TRIALS_H

#include "common/number_text.h"
#include "kernels/common/types.h"
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * The layout of an item of dedispersed powers, [beam][trial][time] of f32: for each beam,
 * for each trial in the order of `dms`, times_per_item / decimation samples, each the sum
 * over channels and over `decimation` times of the input.
 */
struct trial_layout {
    int beams;
    int times_per_item;      //!< times of the input
    std::vector<double> dms; //!< dispersion measures of the trials, pc/cm^3, in any order
    std::vector<int> decimations; //!< one power of two for each; empty: all 1

    int trials() const { return int(dms.size()); }
    int decimation(int trial) const
    {
        return decimations.empty() ? 1 : decimations[trial];
    }
    //! Returns the samples of a trial in an item.
    int times(int trial) const { return times_per_item / decimation(trial); }

    //! Returns the samples before each trial of a beam, and those of a beam at the end.
    std::vector<int64_t> offsets() const
    {
        std::vector<int64_t> sums(trials() + 1, 0);
        for (int t = 0; t < trials(); ++t)
            sums[t + 1] = sums[t] + times(t);
        return sums;
    }
    //! Returns the samples of a beam in an item.
    int64_t beam_values() const
    {
        int64_t values = 0;
        for (int t = 0; t < trials(); ++t)
            values += times(t);
        return values;
    }
    //! Returns where the samples of a beam and trial begin. offsets() is for loops.
    int64_t offset(int beam, int trial) const
    {
        int64_t before = 0;
        for (int t = 0; t < trial; ++t)
            before += times(t);
        return beam * beam_values() + before;
    }
    //! Returns the samples in an item.
    int64_t values() const { return beams * beam_values(); }
    //! \throws std::invalid_argument if they do not fit into int
    int item_bytes() const
    {
        return item_size("dedispersed item",
                         { { "beams", beams }, { "values of a beam", beam_values() } },
                         sizeof(float));
    }

    //! \throws std::invalid_argument
    void check() const
    {
        require_range("beams", beams, 1, 65536);
        require_range("times_per_item", times_per_item, 1, 1 << 28);
        require(!dms.empty() && dms.size() <= 1 << 20,
                "dms",
                "a list of " + std::to_string(dms.size()),
                "1 to 1048576 dispersion measures");
        for (const double dm : dms)
            require(
                std::isfinite(dm) && dm >= 0, "dms", text_of(dm), "0 or more, pc/cm^3");
        require(decimations.empty() || decimations.size() == dms.size(),
                "decimations",
                "a list of " + std::to_string(decimations.size()),
                "one for each of the " + std::to_string(dms.size()) +
                    " dispersion measures, or none");
        for (const int d : decimations)
            require(d > 0 && (d & (d - 1)) == 0 && times_per_item % d == 0,
                    "decimations",
                    std::to_string(d),
                    "a power of two that divides times_per_item (" +
                        std::to_string(times_per_item) + ")");
        item_bytes();
    }
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_DEDISPERSION_TRIALS_H */
