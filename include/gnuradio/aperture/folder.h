/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FOLDER_H
#define INCLUDED_APERTURE_FOLDER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Folds the powers of beams with the period of a pulsar.
 * \ingroup aperture
 *
 * In: powers `[beam][product][channel]`, one item an integration, from `power_detector`,
 * `beam_power` or `power_normalizer`, with the tags rx_time and rx_rate. Each item is
 * added to the phase bin floor(phase * bins) of the middle of its integration: rx_time is
 * that of its first spectrum, and the tag `spectra` says how many there are; without that
 * tag half of the time to the next item is added to rx_time. The phase is the one at the
 * telescope: channels are not dedispersed.
 *
 * Powers are weighted with the tag `counted`, the spectra that were summed in them.
 * Without the tag an item counts as the spectra it spans, or as 1. A power of f32 that is
 * NaN or exactly 0, as one is of which all was flagged, does not count; with `zeros` one
 * of exactly 0 does, as in files of few bits.
 *
 * With `counts`, port 1 takes the counts that power_detector and beam_power give beside
 * their powers where they take masks: these are the weights of each channel.
 *
 * Out: for each sub-integration `[beam][product][channel][bin]` of f32, the mean powers
 * (0 where nothing was counted), and on a second port, which may stay unconnected, the
 * counts, of u32, in the same order. Each has the tags rx_time (of its first item),
 * rx_freq, bandwidth and `folded`: a dictionary of `length` (s, which its items span),
 * `middle` (tuple as rx_time: half of the length after rx_time), `turns` (uint64, whole
 * cycles), `phase` and `frequency` (cycles and cycles/s, of the model, at `middle`) and
 * `items` (uint64). The last sub-integration ends with the input and is tagged `partial`.
 */
class APERTURE_API folder : virtual public block_on_device
{
public:
    typedef std::shared_ptr<folder> sptr;

    //! A model of the pulsar's phase over a stretch of time.
    struct segment {
        std::pair<uint64_t, double> start = { 0, 0 };
        double length = 0;
        std::pair<uint64_t, double> reference = { 0, 0 };
        int64_t turns = 0;
        double phase = 0;
        std::vector<double> coefficients = {};

        //! Describes the members.
        static auto describe()
        {
            return std::make_tuple(
                parameter("start",
                          &segment::start,
                          "whole seconds since 1970, UTC, and the fraction of a second: "
                          "from here on it holds"),
                parameter("length",
                          &segment::length,
                          "seconds that it holds for; 0, of a single segment: always"),
                parameter("reference",
                          &segment::reference,
                          "time that the coefficients count from, given as start is"),
                parameter("turns", &segment::turns, "whole cycles at the reference"),
                parameter(
                    "phase", &segment::phase, "fraction of a cycle at the reference"),
                parameter("coefficients",
                          &segment::coefficients,
                          "coefficients of the powers of the time since the reference: "
                          "cycles/s, "
                          "cycles/s^2 ..., 32 at most"));
        }
    };

    struct parameters {
        std::vector<segment> segments = {};
        int channels = 1024;
        int beams = 1;
        int products = 1;
        int bins = 128;
        double subintegration = 10;
        std::string type = "f32";
        bool mean = true;
        bool counts = false;
        bool zeros = false;
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            required_parameter("segments",
                               &parameters::segments,
                               "list of folder.segment, in order of time: the model of "
                               "the phase; an item outside of them ends the "
                               "flowgraph"),
            parameter("channels", &parameters::channels, "of an item").range(1, 1 << 24),
            parameter("beams", &parameters::beams, "of an item (or pairs of them)")
                .range(1, 1 << 20),
            parameter("products", &parameters::products, "of each beam, 1 to 4")
                .range(1, 4),
            parameter("bins", &parameters::bins, "phase bins of a cycle, 2 to 65536")
                .range(2, 65536)
                .called("Phase Bins"),
            parameter("subintegration",
                      &parameters::subintegration,
                      "seconds that are folded into one item of the output")
                .above(0, 1e6)
                .in("s")
                .called("Sub-integration (s)"),
            parameter("type", &parameters::type, "of the powers: f32, s8 or u8")
                .one_of("f32", "s8", "u8"),
            parameter(
                "mean",
                &parameters::mean,
                "whether the powers are divided by their counts; if not, they are sums")
                .called("Powers Are Means"),
            parameter("counts",
                      &parameters::counts,
                      "whether input port 1 has the counts of each power, u32 [beam or "
                      "pair][channel], with each item")
                .called("Counts Port"),
            parameter(
                "zeros",
                &parameters::zeros,
                "whether powers of f32 that are exactly 0 count, as in files of few "
                "bits; if not, they are missing")
                .called("Zeros Count"),
            latency_parameter<parameters>());
    }

    /*!
     * \throws std::invalid_argument naming the parameter, its value and what is allowed
     */
    static sptr make(const parameters& p);
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_FOLDER_H */
