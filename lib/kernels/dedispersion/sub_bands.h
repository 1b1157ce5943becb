/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DEDISPERSION_SUB_BANDS_H
#define INCLUDED_APERTURE_KERNELS_DEDISPERSION_SUB_BANDS_H

#include "kernels/dedispersion/dedisperser.h"
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * A plan by which trials of one decimation share their sums. Times are those of decimated
 * powers.
 *
 * The band is cut into sub-bands of neighbouring channels. For each sub-band there are
 * *paths*: delays of its channels after its highest one. First the powers of each
 * sub-band are summed along each of its paths, to a row of times; then a trial is the sum
 * over sub-bands of one row each, from an offset on. The delay of a channel is the sum of
 * the two. Neighbouring trials take the same path while no delay of theirs is off by more
 * than the tolerance.
 */
struct sub_band_plan {
    int decimation;
    std::vector<int> trials; //!< their places in `dms`, by ascending dispersion measure
    int width;               //!< channels of a sub-band; the last one may have fewer
    int sub_bands;

    //! The paths of all sub-bands, those of a sub-band in a row.
    struct path {
        int32_t first, last; //!< least and greatest offset that a trial takes it from
    };
    std::vector<path> paths;
    std::vector<int> first_path; //!< first path of each sub-band, and the number of all
    std::vector<int32_t> path_delays; //!< [path][width], 0 where there is no channel

    //! The path and the offset of [trial][sub-band].
    std::vector<int32_t> path_of, offset_of;

    int channels_of(int sub_band, int channels) const
    {
        const int left = channels - sub_band * width;
        return left < width ? left : width;
    }
    //! Returns the delay of a channel for a trial, by its place in `trials`.
    int64_t delay(int trial, int channel) const
    {
        const int sub_band = channel / width;
        const size_t at = size_t(trial) * sub_bands + sub_band;
        return offset_of[at] + path_delays[size_t(path_of[at]) * width + channel % width];
    }
    //! Returns the greatest of all delays.
    int64_t longest_delay(int channels) const;
    //! Returns the additions for a time of all trials.
    int64_t additions() const
    {
        return int64_t(path_delays.size()) + int64_t(path_of.size());
    }
};

//! Makes the plans for each decimation that occurs.
std::vector<sub_band_plan> plan_sub_bands(const dedisperser::parameters& p);

//! Returns the delays in times of the input, [trial][channel].
std::vector<int64_t> delays_of(const std::vector<sub_band_plan>& plans,
                               const dedisperser::parameters& p);
//! Returns the greatest of them.
int64_t longest_delay_of(const std::vector<sub_band_plan>& plans, int channels);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_DEDISPERSION_SUB_BANDS_H */
