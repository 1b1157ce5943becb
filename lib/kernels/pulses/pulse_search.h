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
 * Finds pulses in dedispersed powers. A series is what comes of one beam and trial, item
 * after item.
 *
 * A series is taken in groups of 128 values. Each group has a mean and a variance (about
 * its own mean); those of some groups in a row, a power of two, are averaged to a bin,
 * and a window of at most 64 bins up to the newest group gives the baseline, the median
 * of the bins' means, and sigma^2, the median of the bins' variances over that of chi^2 /
 * nu. So half of the window can be a pulse, or interference, before it matters. A group
 * of which fewer than half of the values are finite and not 0, or whose variance is 0, is
 * missing: it says nothing about baseline and sigma, and its values are taken as the
 * baseline. So are single values that are not finite.
 *
 * A cell is a boxcar that ends somewhere in a series. Its S/N is the sum of its values
 * less the baseline over sigma sqrt(width), where each value has the baseline and sigma
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
        double sample_time; //!< s, of the input of the trials
        double window;      //!< s, of baseline and sigma
        int widest;         //!< boxcar, in values of the trial
        double growth;      //!< from one boxcar to the next
        double threshold;   //!< S/N
        int most_cells;     //!< in the list of each beam and item

        //! \throws std::invalid_argument
        void check() const;
    };

    struct cell {
        int32_t series; //!< beam * trials + trial
        int32_t boxcar; //!< its place in boxcars()
        //! Values of the trial behind the beginning of the item (or of where the next one
        //! would have begun) up to the boxcar's end; it may be negative.
        int32_t end;
        float snr;
    };

    //! What was found in an item.
    struct result {
        std::vector<cell> cells;
        uint64_t left_out = 0;       //!< that the lists had no room for
        std::vector<uint64_t> above; //!< all cells above the threshold, of each boxcar
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<pulse_search> make(const parameters&, const device&);
    virtual ~pulse_search() = default;
    virtual std::string implementation() const = 0;

    //! Forgets all that was: the next item is the first one.
    virtual void reset(stream&) = 0;
    //! Searches an item, values [beam][trial][time]. It makes one result, as flush()
    //! does.
    virtual void search(const float* item, stream&) = 0;
    //! Searches what is left of groups, as if it were followed by the baseline. No boxcar
    //! reaches from what came before to what comes after; the baseline stays.
    virtual void flush(stream&) = 0;
    /*!
     * The results of searches that are done, in their order; these do not come again.
     * \param all waits until all are done
     */
    virtual std::vector<result> collect(bool all) = 0;
};

//! Values in a group.
inline constexpr int group_values = 128;
//! Groups that are searched at once: a segment of the last level.
inline constexpr int tile_groups = widest_boxcar / group_values;
inline constexpr int tile_values = tile_groups * group_values;
//! Values that a group must have.
inline constexpr int least_values = group_values / 2;
//! Bins in a window at most.
inline constexpr int most_bins = 64;
//! Values further from the baseline are taken as being there, in sigma: more is not
//! resolved beside the noise.
inline constexpr float most_sigma = 65536;

//! How the window of a trial is made of bins.
struct window_bins {
    int groups; //!< in a bin
    int bins;
};
window_bins bins_of(double window, double value_time);

//! What the median of variances of a bin is divided by: that of chi^2 / nu, by Wilson and
//! Hilferty's approximation, better than 1e-5 here.
double median_of_variance(int groups);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_PULSE_SEARCH_H */
