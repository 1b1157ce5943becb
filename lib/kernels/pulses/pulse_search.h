/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PULSES_PULSE_SEARCH_H
#define INCLUDED_APERTURE_KERNELS_PULSES_PULSE_SEARCH_H

#include "kernels/dedispersion/trials.h"
#include "kernels/pulses/boxcars.h"
#include <gnuradio/aperture/device/device.h>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Finds pulses in dedispersed powers. A series is the samples of one beam and trial, item
 * after item.
 *
 * A series is divided into groups of 128 samples. Each group has a mean and a variance
 * (about its own mean); those of some groups in a row, a power of two, are averaged to a
 * bin, and a window of at most 64 bins up to the newest group gives the baseline, the
 * median of the bins' means, and sigma^2, the median of the bins' variances over that of
 * chi^2 / nu. So up to half of the window can be a pulse, or interference. A group of
 * which fewer than half of the samples are finite and not 0, or whose variance is 0, is
 * missing: it does not count for baseline and sigma, and its samples are replaced by the
 * baseline. So are single samples that are not finite.
 *
 * A cell is a boxcar that ends somewhere in a series. Its S/N is the sum of its samples
 * less the baseline over sigma sqrt(width), where each sample has the baseline and sigma
 * that held when it came. It is made of running sums of floats over a tile of
 * tile_values: it is off by up to 2.4e-7 of the largest of these over sqrt(width), and of
 * the level over sigma times sqrt(width), since the baseline is a float. Of the cells
 * above the threshold those are listed that are the largest in their neighbourhood: a
 * boxcar of level k belongs to a segment of 32 2^k values in which it ends; the best one
 * of a segment is listed if none is better in the segments that hold it or that it holds.
 */
class pulse_search
{
public:
    struct parameters {
        trial_layout trials;
        double sample_time; //!< time from one power of the trials' input to the next, s
        double window;      //!< window of baseline and sigma, s
        int widest;         //!< widest boxcar, in samples of the trial
        double growth;      //!< largest ratio of a boxcar's width to the one before
        double threshold;   //!< S/N
        int most_cells;     //!< cells in the list of each beam and item

        //! \throws std::invalid_argument
        void check() const;
    };

    struct cell {
        int32_t series; //!< beam * trials + trial
        int32_t boxcar; //!< index in boxcars()
        //! End of the boxcar, in samples of the trial from the beginning of the item (or
        //! of where the next one would have begun); it may be negative.
        int32_t end;
        float snr;
    };

    //! The cells that were found in an item.
    struct result {
        std::vector<cell> cells;
        uint64_t left_out = 0;       //!< cells that the lists had no room for
        std::vector<uint64_t> above; //!< all cells above the threshold, of each boxcar
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<pulse_search> make(const parameters&, const device&);
    virtual ~pulse_search() = default;
    virtual std::string implementation() const = 0;

    //! Forgets the past: the next item is the first one.
    virtual void reset(stream&) = 0;
    //! Searches an item, [beam][trial][time]. It makes one result, as flush() does.
    virtual void search(const float* item, stream&) = 0;
    //! Searches the rest of groups, as if the baseline followed. No boxcar reaches from
    //! earlier to later items; the baseline stays.
    virtual void flush(stream&) = 0;
    /*!
     * Takes the results of searches that are done, in their order.
     * \param all whether to wait until all are done
     */
    virtual std::vector<result> collect(bool all) = 0;
};

//! Samples in a group.
inline constexpr int group_values = 128;
//! Groups that are searched at once: a segment of the last level.
inline constexpr int tile_groups = widest_boxcar / group_values;
inline constexpr int tile_values = tile_groups * group_values;
//! Least number of samples in a group.
inline constexpr int least_values = group_values / 2;
//! Largest number of bins in a window.
inline constexpr int most_bins = 64;
//! Largest distance from the baseline, in sigma: larger ones are reduced to it, as more
//! is not resolved beside the noise.
inline constexpr float most_sigma = 65536;

//! The bins of which the window of a trial is made.
struct window_bins {
    int groups; //!< groups in a bin
    int bins;
};
window_bins bins_of(double window, double value_time);

//! Returns the divisor of the median of variances of a bin: the median of chi^2 / nu, by
//! Wilson and Hilferty's approximation, better than 1e-5 here.
double median_of_variance(int groups);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_PULSE_SEARCH_H */
