/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_ZOOM_H
#define INCLUDED_APERTURE_ZOOM_H

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
 * \brief Takes a part of the band: mixes, filters and decimates the samples of many
 * inputs. \ingroup aperture
 *
 * y[m] = g sum_j h[j] x[mD+j] exp(-2 pi i f (mD+j) / fs), with D the decimation, fs the
 * rate of the samples, h a symmetric low-pass filter of L taps with gain 1, and f the
 * `frequency` for complex samples. Real samples have the middle of their band at fs/4, so
 * that f is higher by that, and 2 h in the place of h: y is the analytic signal. A tone
 * keeps its amplitude.
 *
 * The time of y[m] is that of the middle of its samples, mD + (L-1)/2, a whole number: a
 * tone that has phase p at that time has phase p - 2 pi f (mD + (L-1)/2) / fs in y[m].
 * The oscillator's phase counts from the first sample that all ports have, and from the
 * first one where the ports are aligned anew. It is computed from the number of the
 * sample, with 128 bits, and so does not drift, nor depend on how calls cut the stream.
 *
 * Tags: rx_rate and `bandwidth` are fs/D, rx_freq is higher by `frequency`. Where rx_freq
 * changes, the part of the band goes with it. `delay` tags of stream_align stay, and
 * their phases become those at the new middle.
 *
 * Ports: inputs/inputs_per_port in, the same out. An item holds one sample of each input
 * of the port (packed s12 and s10: as in pfb_channelizer). All ports advance together:
 * they are aligned by rx_time, and lost samples (an rx_time that jumps) become zeros with
 * `missing` tags. An output sample is missing when any of the L samples under its filter
 * is, or is no number. Message port `status` sends dictionaries about lost samples.
 */
class APERTURE_API zoom : virtual public block_on_device
{
public:
    typedef std::shared_ptr<zoom> sptr;

    struct parameters {
        double frequency = 0;
        int decimation = 16;
        int inputs = 2;
        int inputs_per_port = 1;
        std::string input_type = "fc32";
        std::string output_type = "fc32";
        double passband = 0.8;
        double gain = 0;
        bool inverted = false;
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
            parameter("frequency",
                      &parameters::frequency,
                      "middle of the part, in Hz above the middle of the band (rx_freq); "
                      "the passband must lie within the band")
                .range(-1e12, 1e12)
                .in("Hz")
                .called("Frequency above the Middle (Hz)"),
            parameter("decimation",
                      &parameters::decimation,
                      "samples in for one out, D; 2 to 4096. Products of small numbers "
                      "cost the least above 16")
                .range(2, 4096),
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
                "packed, an item of one input is 2 samples in 3 bytes or 4 in 5, and the "
                "decimation a multiple of these")
                .one_of("fc32", "sc16", "sc8", "sc4", "f32", "s16", "s12", "s10", "s8"),
            parameter("output_type",
                      &parameters::output_type,
                      "fc32, or sc8 (rounded half to even, clamped to +-127 and counted)")
                .one_of("fc32", "sc8"),
            parameter(
                "passband",
                &parameters::passband,
                "part of the output's band that ripples by at most 0.1 dB, and into "
                "which nothing aliases above -80 dB; the taps grow with 1 / (1 - "
                "passband)")
                .range(0.1, 0.95)
                .under("Advanced"),
            parameter("gain",
                      &parameters::gain,
                      "factor of all samples; 0 means 1, and is refused for sc8, whose "
                      "steps depend on it: 20 divided by the rms of a component of y"),
            parameter(
                "inverted",
                &parameters::inverted,
                "the band was mirrored: frequencies are of the sky, and the output is "
                "not inverted any more")
                .called("Band Inverted"),
            most_gap_parameter<parameters>(
                "seconds; an rx_time that jumps further is not filled with missing "
                "samples, but begins the alignment anew"),
            relative_time_parameter<parameters>(),
            follow_clock_parameter<parameters>(),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Returns the stages of the filter: decimation and taps of each.
    virtual std::vector<std::pair<int, int>> stages() const = 0;
    //! Returns L, the samples that an output sample is made of.
    virtual int64_t length() const = 0;
    //! Returns by how much the gain varies in the passband, in dB, of the filter as it
    //! is.
    virtual double ripple() const = 0;
    //! Returns by how much, in dB, all that aliases into the passband is attenuated at
    //! least.
    virtual double attenuation() const = 0;

    //! Returns, for each input, the output samples that did not fit into sc8.
    virtual std::vector<uint64_t> clamped() const = 0;
    //! Returns, for each input, the 8-bit samples of -128 (4-bit: -8) read as -127 (-7).
    virtual std::vector<uint64_t> clamped_samples() const = 0;
    //! Returns, for each input, the output samples that are missing.
    virtual std::vector<uint64_t> missing() const = 0;
    //! Returns the name of the implementation, for example "host".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_ZOOM_H */
