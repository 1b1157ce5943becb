/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PFB_CHANNELIZER_H
#define INCLUDED_APERTURE_PFB_CHANNELIZER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/input_settings.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Makes the prototype filter of a polyphase filter bank: sinc times a window.
 *
 * h[j] = sinc((j - (L-1)/2) / n) w[j] with L = taps n, scaled so that the sum of squares
 * is 1 (white noise keeps its power in each channel).
 *
 * \param channels n: 4 to 65536, even; for real samples twice the number of channels
 * \param taps 1 to 64
 * \param window hann, hamming, blackman, rect, or kaiser(beta), all symmetric
 * \throws std::invalid_argument naming the parameter, its value and what is allowed
 */
APERTURE_API std::vector<float>
pfb_prototype(int channels, int taps, const std::string& window = "hann");

/*!
 * \brief Channelises many inputs by a polyphase filter bank (F-engine), critically
 * sampled or oversampled.
 * \ingroup aperture
 *
 * y_k[m] = gain_k sum_j h[j] x[mD+j] exp(-2 pi i (k - n/2) (mD+j) / n), j = 0 the oldest
 * sample, D = n. Channels are in order of increasing sky frequency; with complex samples
 * at rate fs, channel k is centred on (k - n/2) fs/n, with real samples on k fs/(2n). N
 * samples give floor((N - taps n)/D) + 1 spectra (real: 2n for n).
 *
 * With `oversampling` P/Q a spectrum comes every D = n Q/P samples (real: 2n Q/P): the
 * rate of spectra rises by P/Q, the channels and their spacing, `bandwidth`/n, stay. What
 * the prototype leaves of neighbouring channels then aliases into the outer parts of a
 * channel, and hardly into its middle +-1/2 spacing: with `hann` -79 dB of the power with
 * 24 taps at 32/27, -63 dB with 8 at 4/3 (of one tone -68 and -55 dB at most). The
 * constructor warns of more than -60 dB. A tone in the middle of a channel keeps its
 * phase from spectrum to spectrum.
 *
 * Ports: inputs/inputs_per_port in, the same out. An input item holds one sample of each
 * input of the port, an output item `[input][channel]`, one spectrum of each. With packed
 * s12 and s10 an input item holds the fewest samples that fill whole bytes: for one input
 * 2 in 3 bytes, or 4 in 5. All ports advance together: they are aligned by rx_time, and
 * lost samples (an rx_time that jumps) become spectra of zeros with `missing` tags.
 *
 * sc8 output differs from device to device by at most one step, in at most 1e-4 of the
 * components. Where Hopper's tensor cores make sc8, with up to 8 taps (from sc8: 16), 64
 * to 8192 channels (powers of two) from sc8 or sc4 samples, or 64 to 1024 from s8, the
 * transform is in half precision, and implementation() says f16: then 0.5 % of the
 * components differ at an rms of 20 steps, and more in proportion to the rms, 1 % at 43.
 * Other samples, and fc32 output, are transformed in single precision everywhere.
 *
 * Message port `gains` takes a dictionary of `gain` (complex or real, or a c32vector of
 * one per channel), optionally `input` (all without it), `time` and `model`. Message port
 * `delays` takes a dictionary of `delay` in seconds, optionally `delay_rate`, `phase`,
 * `phase_rate` (each one value or an f64vector of one per input), `input`, `time` and
 * `model`: see set_delays(). Tags of the same four names on the samples are a model of
 * their own. A setting with a time holds from the first spectrum at or after it, exactly.
 * Message port `status` sends dictionaries about lost samples and late settings.
 *
 * A spectrum of a delayed input is read that many samples earlier. It is missing where
 * these were lost, or lie before the first one; inputs of one port are missing together.
 */
class APERTURE_API pfb_channelizer : public filtering_block
{
public:
    typedef std::shared_ptr<pfb_channelizer> sptr;

    struct parameters {
        int channels = 1024;
        int inputs = 2;
        int inputs_per_port = 1;
        std::string input_type = "fc32";
        std::string output_type = "fc32";
        int taps = 8;
        std::string window = "hann";
        std::vector<float> prototype = {};
        std::string oversampling = "1";
        double gain = 0;
        bool inverted = false;
        int most_delay = 0;
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
            parameter("channels",
                      &parameters::channels,
                      "n, even, 4 to 65536; fast for products of 2, 3 and 5")
                .range(4, 65536),
            parameter("inputs", &parameters::inputs, "of all ports together")
                .range(1, 65536),
            parameter("inputs_per_port",
                      &parameters::inputs_per_port,
                      "interleaved sample by sample")
                .range(1, 65536),
            parameter(
                "input_type",
                &parameters::input_type,
                "fc32, sc16, sc8, sc4, or real f32, s16, s12, s10, s8; s12 and s10 are "
                "packed, an item of one input is 2 samples in 3 bytes or 4 in 5")
                .one_of("fc32", "sc16", "sc8", "sc4", "f32", "s16", "s12", "s10", "s8"),
            parameter("output_type",
                      &parameters::output_type,
                      "fc32, or sc8 (rounded half to even, clamped to +-127 and counted)")
                .one_of("fc32", "sc8"),
            parameter("taps", &parameters::taps, "1 to 64").range(1, 64),
            parameter("window",
                      &parameters::window,
                      "hann, hamming, blackman, rect or kaiser(beta)"),
            parameter(
                "prototype",
                &parameters::prototype,
                "taps x n coefficients (real samples: taps x 2n) instead of `window`")
                .called("Prototype Filter"),
            parameter("oversampling",
                      &parameters::oversampling,
                      "ratio P/Q of the rate of spectra to the spacing of channels, at "
                      "least 1, such as 32/27 or 4/3; n x Q/P (real samples: 2n x Q/P) "
                      "must be a whole number"),
            parameter("gain",
                      &parameters::gain,
                      "first gain of all inputs and channels; 0 means 1, and is refused "
                      "for sc8 from other types")
                .can_be_set(),
            parameter("inverted",
                      &parameters::inverted,
                      "the band was mirrored: complex samples are conjugated, real "
                      "channels reversed")
                .called("Band Inverted"),
            parameter("most_delay",
                      &parameters::most_delay,
                      "samples by which an input may be delayed, or be ahead; 0: as many "
                      "as 100 "
                      "microseconds have, but no more than fit into 256 KiB of a port "
                      "(on a GPU, "
                      "a quarter of a ring). The buffer before the block grows by four "
                      "times as "
                      "many")
                .range(0, 1 << 28)
                .in("samples")
                .called("Longest Delay (samples)")
                .under("Advanced"),
            most_gap_parameter<parameters>(
                "seconds; an rx_time that jumps further is not filled with missing "
                "spectra, but ends what is unfinished and begins the alignment anew"),
            relative_time_parameter<parameters>(),
            follow_clock_parameter<parameters>(),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    static sptr make(const parameters& p);
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PFB_CHANNELIZER_H */
