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
 * `beam_power` or `power_normalizer`, with the tags rx_time and rx_rate. Each is added to
 * the phase bin floor(phase * bins) of the middle of its integration: rx_time is that of
 * its first spectrum, the tag `spectra` says how many there are; without it half of the
 * time to the next item is added. The phase is the telescope's: channels are not lined
 * up, which is done afterwards with a dispersion measure.
 *
 * It weights with the tag `counted`, the spectra that are in a power: what received
 * nothing does not count. Without the tag an item counts as the spectra it spans, or
 * as 1. A power of f32 that is exactly 0, as one is of which all was flagged, or NaN does
 * not count either.
 *
 * With `counts`, port 1 takes the counts that power_detector and beam_power put out
 * beside their powers where they take masks: they are the weights of each channel.
 *
 * Out: for each sub-integration `[beam][product][channel][bin]` of f32, the mean powers
 * (0 where nothing was counted), and on a second port, which may be left open, what was
 * counted, of u32, in the same order. Each has the tags rx_time (of its first item),
 * rx_freq, bandwidth and `folded`: a dictionary of `length` (s, of what its items span),
 * `middle` (tuple as rx_time: half of the length after rx_time), `turns` (uint64),
 * `phase` and `frequency` (turns and turns/s, of the model, at `middle`) and `items`
 * (uint64). The last one is of what there is, and `partial`.
 */
class APERTURE_API folder : virtual public block_on_device
{
public:
    typedef std::shared_ptr<folder> sptr;

    //! The phase over a stretch of time.
    struct segment {
        std::pair<uint64_t, double> start = { 0, 0 };
        double length = 0;
        std::pair<uint64_t, double> reference = { 0, 0 };
        int64_t turns = 0;
        double phase = 0;
        std::vector<double> coefficients = {};

        //! What the members mean.
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
                          "time that the coefficients count from, as start"),
                parameter("turns", &segment::turns, "whole turns at the reference"),
                parameter("phase", &segment::phase, "and the rest of them"),
                parameter("coefficients",
                          &segment::coefficients,
                          "of the time since the reference and its powers: turns/s, "
                          "turns/s^2 ..., 32 at most"));
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
        double latency = 0.1;
    };

    //! What the parameters mean.
    static auto describe()
    {
        return std::make_tuple(
            required_parameter("segments",
                               &parameters::segments,
                               "list of folder.segment, in order of time: the model of "
                               "the phase; what comes outside of them ends the "
                               "flowgraph"),
            parameter("channels", &parameters::channels, "of an item").range(1, 1 << 24),
            parameter("beams", &parameters::beams, "of an item (or pairs of them)")
                .range(1, 1 << 20),
            parameter("products", &parameters::products, "of each beam, 1 to 4")
                .range(1, 4),
            parameter("bins", &parameters::bins, "of a turn, 2 to 65536")
                .range(2, 65536)
                .called("Phase Bins"),
            parameter("subintegration",
                      &parameters::subintegration,
                      "seconds of what is folded into one item of the output")
                .above(0, 1e6)
                .in("s")
                .called("Sub-integration (s)"),
            parameter("type", &parameters::type, "of the powers: f32, s8 or u8")
                .one_of("f32", "s8", "u8"),
            parameter("mean",
                      &parameters::mean,
                      "powers are means of what was counted; or else sums")
                .called("Powers Are Means"),
            parameter("counts",
                      &parameters::counts,
                      "input port 1 has what was counted in each power, u32 [beam or "
                      "pair][channel], with each item")
                .called("Counts Port"),
            latency_parameter<parameters>());
    }

    /*!
     * \throws std::invalid_argument naming the parameter, its value and what is allowed
     */
    static sptr make(const parameters& p);
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_FOLDER_H */
