/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_UPCHANNELISER_H
#define INCLUDED_APERTURE_UPCHANNELISER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Splits the channels of a filter bank further, each by a filter bank of its own.
 * \ingroup aperture
 *
 * Each of K channels ("coarse") becomes F fine ones, K F in all, in order of increasing
 * sky frequency: fine channel f of channel k is centred on that of channel k plus
 * (f - floor(F/2)) spacing/F. The voltages of a channel are taken as samples:
 *
 * z_(k,f)[m] = g_f sum_j h[j] y_k[mM+j] exp(-2 pi i (f - floor(F/2)) (mM+j) / M)
 *
 * with M = F P/Q, where P/Q is the `oversampling` of the channels: a channel has P/Q
 * times as many samples a second as it is Hz apart from the next. The M - F fine channels
 * beyond the edges are left out, so that the band has no seams. N spectra give floor(N/M)
 * - taps + 1; those of a second are spacing/F.
 *
 * g_f takes the shape of the coarse channels out: it is `gain` sqrt(D) / |H((f -
 * floor(F/2)) / F)|, H the response of the coarse prototype, whose sum of squares is 1,
 * and D the samples from one coarse spectrum to the next. White noise then has E|z|^2 =
 * E|x|^2, x the samples of the coarse filter bank, and a tone has what one filter bank of
 * K F channels would make of it. Without `coarse_taps` the shape is not known, and g_f is
 * `gain`.
 *
 * What aliases in the coarse channels stays: with 24 taps of `hann` at 32/27 65 dB
 * below a tone at most. In critically sampled channels (P/Q = 1) an alias is as strong as
 * the tone itself at the edges of a channel, 20 dB below it an eighth of a spacing
 * further in (8 taps), and the noise rises to twice its power at the edges.
 *
 * Ports: inputs/inputs_per_port in, the same out. An input item is `[input][channel]`, a
 * spectrum of each input of the port, as of pfb_channelizer and channel_source; an output
 * item `[input][channel x fine]`. The time of a spectrum is the middle of all samples
 * under both filters. All ports are aligned by rx_time; a spectrum of an input is zeros,
 * with a `missing` tag, where one under its filter was lost or is missing.
 *
 * A delay that the coarse filter bank has applied is exact in the middle of each coarse
 * channel. Whole samples are exact everywhere; of the rest, at most half a sample, the
 * phase of fine channels is off by pi/(2K) at most, at the edges of a channel.
 */
class APERTURE_API upchanneliser : virtual public block_on_device
{
public:
    typedef std::shared_ptr<upchanneliser> sptr;

    struct parameters {
        int channels = 1024;
        int fine = 16;
        int inputs = 2;
        int inputs_per_port = 1;
        std::string input_type = "fc32";
        std::string output_type = "fc32";
        int taps = 8;
        std::string window = "hann";
        std::vector<float> prototype = {};
        std::string oversampling = "1";
        int coarse_taps = 8;
        std::string coarse_window = "hann";
        std::vector<float> coarse_prototype = {};
        double gain = 0;
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
            parameter(
                "channels", &parameters::channels, "K, of an input before the block")
                .range(1, 1 << 24),
            parameter("fine",
                      &parameters::fine,
                      "F, the channels that each of them is split into, 2 to 4096")
                .range(2, 4096)
                .called("Fine Channels of Each"),
            parameter("inputs", &parameters::inputs, "of all ports together")
                .range(1, 65536),
            parameter("inputs_per_port",
                      &parameters::inputs_per_port,
                      "vectors of channels one behind the other")
                .range(1, 65536),
            parameter("input_type", &parameters::input_type, "fc32, sc8 or sc4")
                .one_of("fc32", "sc8", "sc4"),
            parameter("output_type",
                      &parameters::output_type,
                      "fc32, or sc8 (rounded half to even, clamped to +-127 and counted)")
                .one_of("fc32", "sc8"),
            parameter("taps", &parameters::taps, "of the fine filter bank, 1 to 64")
                .range(1, 64),
            parameter("window",
                      &parameters::window,
                      "hann, hamming, blackman, rect or kaiser(beta)"),
            parameter("prototype",
                      &parameters::prototype,
                      "taps x F x P/Q coefficients instead of `window`")
                .called("Prototype Filter"),
            parameter(
                "oversampling",
                &parameters::oversampling,
                "of the channels before the block: ratio P/Q of their rate to their "
                "spacing, such as 32/27; F x P/Q must be a whole number"),
            parameter("coarse_taps",
                      &parameters::coarse_taps,
                      "of the filter bank that made the channels, whose shape is taken "
                      "out; 0: it is not known, and nothing is")
                .range(0, 64)
                .called("Coarse Taps (0: not known)"),
            parameter("coarse_window",
                      &parameters::coarse_window,
                      "that one's window, as `window`"),
            parameter("coarse_prototype",
                      &parameters::coarse_prototype,
                      "that one's coefficients, coarse_taps x any number, instead of "
                      "`coarse_window`")
                .called("Coarse Prototype Filter"),
            parameter(
                "gain",
                &parameters::gain,
                "gain of all inputs and channels; 0 means 1, and is refused for sc8 "
                "from other types"),
            most_gap_parameter<parameters>(
                "seconds; an rx_time that jumps further is not filled with missing "
                "spectra, but begins the alignment anew"),
            relative_time_parameter<parameters>(),
            follow_clock_parameter<parameters>(),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Returns g_f, the gain of each fine channel of a channel.
    virtual std::vector<float> gains() const = 0;
    //! Returns, for each input, the output samples that were clamped as they did not fit
    //! into 8 bits.
    virtual std::vector<uint64_t> clamped() const = 0;
    //! Returns, for each input, the voltages of -128 (sc4: -8) read as -127 (-7).
    virtual std::vector<uint64_t> clamped_samples() const = 0;
    //! Returns, for each input, the spectra that were zeros because of what was missing.
    virtual std::vector<uint64_t> missing() const = 0;
    //! Returns the name of the implementation, for example "host".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_UPCHANNELISER_H */
