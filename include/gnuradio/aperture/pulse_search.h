/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PULSE_SEARCH_H
#define INCLUDED_APERTURE_PULSE_SEARCH_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Finds dispersed pulses in dedispersed powers.
 * \ingroup aperture
 *
 * In: items `[beam][trial][time]` of f32 from dedisperser, with the same parameters. In
 * each beam and trial the running median is subtracted, and the rest is divided by a
 * running rms; boxcars of widths from 1 to `widest` samples give the S/N. Cells above the
 * threshold that are near in time, dispersion measure, width and beam are one candidate:
 * a message on the port `candidates`, or on `rejected`.
 *
 * The block has no port out. See docs/pulse-search.md.
 */
class APERTURE_API pulse_search : virtual public block_on_device
{
public:
    typedef std::shared_ptr<pulse_search> sptr;

    struct parameters {
        int beams = 1;
        int channels = 1024;
        double center_frequency = 408e6;
        double bandwidth = 20e6;
        double sample_time = 51.2e-6;
        std::vector<double> dms = { 0 };
        std::vector<int> decimations = {};
        int times_per_item = 4096;
        double threshold = 7;
        double baseline = 4;
        int widest = 4096;
        double growth = 1.1;
        double min_dm = 0;
        int most_beams = 0;
        std::vector<double> positions = {};
        double neighbors = 0;
        double link_time = 0.5;
        int link_trials = 8;
        double link_widths = 4;
        double margin = 0.05;
        int most_cells = 4096;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("beams", &parameters::beams, "of an item").range(1, 65536),
            parameter("channels", &parameters::channels, "of the powers")
                .range(1, 1 << 24),
            parameter("center_frequency",
                      &parameters::center_frequency,
                      "sky frequency of channel channels // 2 of the powers, in Hz")
                .in("Hz"),
            parameter(
                "bandwidth", &parameters::bandwidth, "bandwidth of the powers, in Hz")
                .above(0)
                .in("Hz"),
            parameter("sample_time",
                      &parameters::sample_time,
                      "time from one item of powers to the next, in seconds")
                .range(1e-9, 1e3)
                .in("s"),
            parameter("dms",
                      &parameters::dms,
                      "list of the trials' dispersion measures, in pc/cm^3")
                .called("Dispersion Measures"),
            parameter(
                "decimations",
                &parameters::decimations,
                "list of a power of two for each trial: times that were summed to one "
                "sample; empty: all 1"),
            parameter("times_per_item",
                      &parameters::times_per_item,
                      "times of the powers in an item")
                .range(1, 1 << 28),
            parameter("threshold", &parameters::threshold, "least S/N of a candidate")
                .range(1, 1e6)
                .called("Threshold (S/N)"),
            parameter("baseline",
                      &parameters::baseline,
                      "seconds of the window over which baseline and rms are taken; "
                      "several times as long as the widest boxcar")
                .above(0, 1e6)
                .in("s")
                .called("Window of the Baseline (s)"),
            parameter("widest",
                      &parameters::widest,
                      "the widest boxcar, in samples of a trial, 1 to 4096")
                .range(1, 4096)
                .called("Widest Boxcar"),
            parameter(
                "growth",
                &parameters::growth,
                "the largest ratio of one boxcar's width to that of the one before, "
                "1.04 to 2")
                .range(1.04, 2)
                .called("Growth of Boxcars"),
            parameter("min_dm",
                      &parameters::min_dm,
                      "candidates of a smaller dispersion measure are rejected")
                .range(0, 1e9)
                .called("Least DM"),
            parameter("most_beams",
                      &parameters::most_beams,
                      "candidates that more beams see are rejected; 0: none are")
                .range(0, 65536),
            parameter(
                "positions",
                &parameters::positions,
                "list of x and y of each beam, one after the other, in degrees; with "
                "it, most_beams counts only beams that are further than `neighbors` "
                "from the one with the largest S/N")
                .called("Positions of the Beams"),
            parameter("neighbors", &parameters::neighbors, "see positions, degrees")
                .range(0, 360)
                .called("Distance of Neighbors (deg)"),
            parameter("link_time",
                      &parameters::link_time,
                      "cells belong together that are apart by at most so much of the "
                      "wider one's width, ...")
                .range(0, 100)
                .called("Link in Time"),
            parameter("link_trials",
                      &parameters::link_trials,
                      "... by so many trials in the order of dispersion measures, ...")
                .range(1, 1 << 20)
                .called("Link in Trials"),
            parameter("link_widths",
                      &parameters::link_widths,
                      "... and of which one is at most so many times as wide")
                .range(1, 1e4)
                .called("Link in Widths"),
            parameter(
                "margin",
                &parameters::margin,
                "seconds before and after the sweep of a pulse in start and end of a "
                "candidate")
                .range(0, 1e4)
                .in("s")
                .called("Margin of Times (s)"),
            parameter("most_cells",
                      &parameters::most_cells,
                      "cells that are taken of each beam and item at most")
                .range(1, 1 << 20)
                .called("Most Cells per Beam"),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    static sptr make(const parameters& p);

    //! Returns the name of the implementation, for example "host".
    virtual std::string implementation() const = 0;
    //! Returns the widths of the boxcars, in samples of a trial.
    virtual std::vector<int> widths() const = 0;
    //! Returns, for each boxcar, all sums above the threshold since the start.
    virtual std::vector<uint64_t> cells() const = 0;
    //! Returns how many cells were dropped as there was no room for them.
    virtual uint64_t left_out() const = 0;
    //! Returns how many candidates were sent, and how many were rejected.
    virtual uint64_t candidates() const = 0;
    virtual uint64_t rejected() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PULSE_SEARCH_H */
