/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CORNER_TURN_H
#define INCLUDED_APERTURE_CORNER_TURN_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Collects spectra of many inputs into frames in which time is the fastest axis.
 * \ingroup aperture
 *
 * Ports in: inputs/inputs_per_port, an item is `[input][channel]`, one spectrum of each
 * input of the port. Port out: an item is a frame `[channel][input][time]`. Ports are
 * aligned by rx_time; spectra lost in between become zeros with `missing` tags, and
 * `missing` tags of the inputs are merged into those of the frame they fall into. When
 * the input ends, the last frame is filled with zeros that count as missing, and tagged
 * `partial`.
 */
class APERTURE_API corner_turn : virtual public block_on_device
{
public:
    typedef std::shared_ptr<corner_turn> sptr;

    struct parameters {
        int channels = 1024;
        int inputs = 2;
        int inputs_per_port = 1;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        int first_channel = 0;
        int selected_channels = 0;
        double align = 0;
        double most_gap = 60;
        bool relative_time = false;
        bool follow_clock = false;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("channels", &parameters::channels, "of each spectrum that comes in")
                .range(1, 1 << 24),
            parameter("inputs", &parameters::inputs, "of all ports together")
                .range(1, 65536),
            parameter("inputs_per_port",
                      &parameters::inputs_per_port,
                      "inputs of a port; their spectra follow each other in an item")
                .range(1, 65536),
            parameter("spectra_per_frame",
                      &parameters::spectra_per_frame,
                      "spectra in a frame; frames of 1 to 128 MB work best")
                .range(1, 1 << 30),
            parameter("type", &parameters::type, "fc32, sc8 or sc4")
                .one_of("fc32", "sc8", "sc4"),
            parameter("first_channel",
                      &parameters::first_channel,
                      "first channel that is passed on")
                .range(0, (1 << 24) - 1),
            parameter("selected_channels",
                      &parameters::selected_channels,
                      "number of channels that are passed on; 0: all from the first on")
                .range(0, 1 << 24)
                .called("Selected Channels (0 = all)"),
            parameter("align",
                      &parameters::align,
                      "seconds; drop spectra until the first at or after a multiple of "
                      "it since 1970")
                .range(0)
                .in("s")
                .called("Align to (s)"),
            most_gap_parameter<parameters>(
                "seconds; an rx_time that jumps further is not filled with missing "
                "spectra, but ends what is unfinished and begins the alignment anew"),
            relative_time_parameter<parameters>(),
            follow_clock_parameter<parameters>(),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    static sptr make(const parameters& p);

    //! Returns, for each input, the samples in which -128 (sc4: -8) became -127 (-7).
    virtual std::vector<uint64_t> clamped() const = 0;
    //! Returns, for each input, the lost spectra, without the padding at the end.
    virtual std::vector<uint64_t> missing() const = 0;
    //! Returns the name of the implementation, for example "host".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CORNER_TURN_H */
