/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SYNTHESIZER_H
#define INCLUDED_APERTURE_SYNTHESIZER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Makes samples in time of the channels of beams: a synthesis filter bank, and a
 * resampler to the rates of VLBI.
 * \ingroup aperture
 *
 * In: frames `[channel][beam][time]` from beamformer, or `[channel][input][time]`; their
 * channels are all of an F-engine's, or neighbours among them. Out: items of one sample
 * of each beam, as blocks with `inputs_per_port` take them.
 *
 * fc32 output has the channels' own rate and rx_freq. Its rate is their spacing times
 * their number, with oversampling P/Q rounded up to a multiple of P. f32 output has the
 * upper sideband of a band that begins at `frequency`, at `sample_rate`: 0 Hz is the
 * band's lower edge, and sample_rate / 2 its upper one. A sample's time is a whole number
 * of samples behind a second of UTC. White noise keeps its power.
 *
 * Oversampled channels become what the F-engine read, but for an error that error_power()
 * gives and the constructor warns of above -60 dB; critically sampled ones lack what lies
 * near the edges of channels. docs/synthesizer.md has figures and formulas.
 *
 * Outputs that lost or missing spectra would go into are zeros with the tag `missing`
 * (`input` is the beam, `first` counts samples since the start). So are those that two
 * frequencies of the receiver would go into. Message port `status` sends dictionaries
 * about losses.
 */
class APERTURE_API synthesizer : virtual public block_on_device
{
public:
    typedef std::shared_ptr<synthesizer> sptr;

    struct parameters {
        int channels = 1024;
        int beams = 1;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        int total_channels = 0;
        int first_channel = 0;
        bool real_input = false;
        std::string oversampling = "1";
        int taps = 8;
        std::string window = "hann";
        std::vector<float> prototype = {};
        int synthesis_taps = 0;
        std::string output_type = "fc32";
        double input_rate = 0;
        double sample_rate = 0;
        double frequency = 0;
        std::string frequency_is = "offset";
        double passband = 0.95;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("channels", &parameters::channels, "of a frame").range(1, 65536),
            parameter("beams", &parameters::beams, "of a frame").range(1, 16384),
            parameter(
                "spectra_per_frame", &parameters::spectra_per_frame, "spectra in a frame")
                .range(1, 1 << 30),
            parameter("type", &parameters::type, "of the voltages, fc32 or sc8")
                .one_of("fc32", "sc8"),
            parameter("total_channels",
                      &parameters::total_channels,
                      "channels of the F-engine, of which the frames have some "
                      "neighbours; 0: they have all")
                .range(0, 65536),
            parameter("first_channel",
                      &parameters::first_channel,
                      "number of the frames' first channel in the F-engine")
                .range(0, 65535),
            parameter("real_input",
                      &parameters::real_input,
                      "whether the samples that the F-engine reads are real"),
            parameter("oversampling",
                      &parameters::oversampling,
                      "that of the F-engine, a ratio such as 32/27; 1: its channels are "
                      "critically sampled"),
            parameter("taps", &parameters::taps, "of the F-engine").range(1, 64),
            parameter("window",
                      &parameters::window,
                      "that of the F-engine: hann, hamming, blackman, rect or "
                      "kaiser(beta)"),
            parameter("prototype",
                      &parameters::prototype,
                      "coefficients of the F-engine, where it has some instead of "
                      "`window`")
                .called("Prototype Filter"),
            parameter("synthesis_taps",
                      &parameters::synthesis_taps,
                      "of the synthesis, an even number more or less than `taps`; with "
                      "more of them less of an error is left; 0: 4 more than `taps`, "
                      "and for critically sampled channels twice as many")
                .range(0, 256)
                .under("Advanced"),
            parameter("output_type",
                      &parameters::output_type,
                      "fc32: the channels' band at its own rate; f32: the upper sideband "
                      "of a band of sample_rate / 2")
                .one_of("fc32", "f32"),
            parameter("input_rate",
                      &parameters::input_rate,
                      "samples a second that the F-engine reads, for f32 output")
                .range(0, 1e12)
                .in("Hz"),
            parameter("sample_rate",
                      &parameters::sample_rate,
                      "of f32 output; for VLBI a power of two times 1 MHz")
                .range(0, 1e12)
                .in("Hz"),
            parameter("frequency",
                      &parameters::frequency,
                      "where the band of f32 output begins, see frequency_is")
                .finite()
                .in("Hz"),
            parameter("frequency_is",
                      &parameters::frequency_is,
                      "offset: from rx_freq of the frames, the middle of channel n/2; "
                      "sky: on the sky, as rx_freq itself")
                .one_of("offset", "sky"),
            parameter("passband",
                      &parameters::passband,
                      "part of the band of f32 output, about its middle, that is flat "
                      "and free of aliases; more of it takes a longer filter")
                .range(0.5, 0.995)
                .under("Advanced"),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Returns the name of the implementation, for example "host fftw".
    virtual std::string implementation() const = 0;
    //! Returns the power of the error that analysis and synthesis leave of white noise in
    //! all of an F-engine's channels, in dB of its own.
    virtual double error_power() const = 0;
    //! Returns, for each beam, the samples that were missing since the start.
    virtual std::vector<uint64_t> missing() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_SYNTHESIZER_H */
