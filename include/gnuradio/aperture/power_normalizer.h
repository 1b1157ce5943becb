/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_POWER_NORMALIZER_H
#define INCLUDED_APERTURE_POWER_NORMALIZER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Gives powers of beams in units of their noise, with interference set to zero.
 * \ingroup aperture
 *
 * In: f32 items `[beam][channel]` from power_detector or beam_power with one product,
 * `power` or `I`. Out: (power - mean) / rms, as f32 or s8, with the same tags; the mean
 * and the rms of each beam and channel are those of a window in time that ends with the
 * segment of the item. Flagged and missing powers become 0.
 *
 * The window has `segments` segments; items come out when their segment is complete. The
 * first items have a shorter window.
 */
class APERTURE_API power_normalizer : virtual public block_on_device
{
public:
    typedef std::shared_ptr<power_normalizer> sptr;

    struct parameters {
        int channels = 1024;
        int beams = 1;
        double sample_time = 1e-3;
        std::string type = "f32";
        double steps = 8;
        double window = 2;
        int segments = 32;
        double cell_threshold = 20;
        double channel_threshold = 8;
        double spectrum_threshold = 8;
        bool zero_dm = false;
        std::vector<int> bad_channels = {};
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("channels", &parameters::channels, "of an item").range(1, 1 << 24),
            parameter("beams", &parameters::beams, "or pairs, of an item")
                .range(1, 65536),
            parameter("sample_time",
                      &parameters::sample_time,
                      "time from one item to the next, in seconds")
                .above(0, 10)
                .in("s")
                .called("Time of a Sample (s)"),
            parameter("type", &parameters::type, "type of the output, f32 or s8")
                .one_of("f32", "s8")
                .called("Output Type"),
            parameter(
                "steps", &parameters::steps, "rms of an output of s8, in steps of it")
                .above(0, 64)
                .called("Steps of the RMS"),
            parameter("window",
                      &parameters::window,
                      "window that mean and rms are taken from, in seconds")
                .above(0, 3600)
                .in("s"),
            parameter(
                "segments", &parameters::segments, "segments of the window, 4 to 64")
                .range(4, 64)
                .called("Segments of the Window"),
            parameter("cell_threshold",
                      &parameters::cell_threshold,
                      "an item's channel is flagged where its power is that far above "
                      "the mean, in units of the rms, and those of both neighbours are "
                      "below half of it; 0: none")
                .range(0)
                .called("Threshold of Cells"),
            parameter("channel_threshold",
                      &parameters::channel_threshold,
                      "a channel is flagged where its mean or its rms is above those of "
                      "its neighbours by so many times the usual difference; 0: none")
                .range(0)
                .called("Threshold of Channels"),
            parameter("spectrum_threshold",
                      &parameters::spectrum_threshold,
                      "an item of a beam is flagged where the sum over its channels, "
                      "each limited to 3 times its rms, is that far from the mean, in "
                      "units of the sum's rms; 0: none")
                .range(0)
                .called("Threshold of Spectra"),
            parameter("zero_dm",
                      &parameters::zero_dm,
                      "subtract the mean of all channels from each item")
                .called("Subtract DM 0"),
            parameter("bad_channels",
                      &parameters::bad_channels,
                      "numbers of channels that are always flagged"),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Returns the name of the implementation, for example "host".
    virtual std::string implementation() const = 0;

    //! Returns the number of items in a segment, which come out together.
    virtual int segment() const = 0;

    /*!
     * Returns, for each beam, the cells (a channel of a beam in an item) since the start:
     * `missing`, of flagged channels (`channel`), of flagged items (`spectrum`), flagged
     * by themselves (`cell`), each counted once, under the first of these; and `clamped`,
     * those that did not fit into s8.
     */
    virtual std::map<std::string, std::vector<uint64_t>> counts() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_POWER_NORMALIZER_H */
