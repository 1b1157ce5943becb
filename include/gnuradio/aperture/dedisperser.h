/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DEDISPERSER_H
#define INCLUDED_APERTURE_DEDISPERSER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Sums powers of beams over channels along the delays of dispersion measures.
 * \ingroup aperture
 *
 * In: items `[beam][channel]` of f32, s8 or u8, one for each time. Out: items of f32,
 * `[beam][trial][time]`: for each beam, for each trial in the order of `dms`,
 * times_per_item / decimation sums over all channels and over `decimation` times. The
 * delay of channel k is K DM (f_k^-2 - f_ref^-2), with K = 1 / 2.41e-4 s MHz^2 cm^3 / pc
 * and f_ref the centre of the highest channel, within the tolerance; delays() has the
 * exact ones.
 *
 * The time of an item, `rx_time`, is that of its first sum at f_ref. Sums that lack
 * channels are not delivered: an input of N times, up to its end or a jump of its clock,
 * gives N - longest_delay() times. The last item of these is filled up with zeros and has
 * the tag `partial`.
 */
class APERTURE_API dedisperser : virtual public block_on_device
{
public:
    typedef std::shared_ptr<dedisperser> sptr;

    struct parameters {
        double center_frequency = 0;
        double bandwidth = 0;
        double sample_time = 0;
        std::vector<double> dms;
        std::vector<int> decimations;
        int beams = 1;
        int channels = 1024;
        int times_per_item = 4096;
        std::string type = "f32";
        double tolerance = 1;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            required_parameter("center_frequency",
                               &parameters::center_frequency,
                               "sky frequency of channel channels // 2, Hz")
                .in("Hz"),
            required_parameter(
                "bandwidth", &parameters::bandwidth, "bandwidth of all channels, Hz")
                .above(0)
                .in("Hz"),
            required_parameter("sample_time",
                               &parameters::sample_time,
                               "time from one item of powers to the next, s")
                .above(0)
                .in("s")
                .called("Sample Time (s)"),
            required_parameter("dms",
                               &parameters::dms,
                               "dispersion measures of the trials in any order, pc/cm^3; "
                               "see transients.plan_trials()")
                .called("Dispersion Measures"),
            parameter("decimations",
                      &parameters::decimations,
                      "times that one output of each trial sums: powers of two; "
                      "empty: all 1"),
            parameter("beams", &parameters::beams, "of an item of powers")
                .range(1, 65536),
            parameter("channels", &parameters::channels, "of an item of powers")
                .range(1, 1 << 24),
            parameter("times_per_item",
                      &parameters::times_per_item,
                      "times of the input for each item that comes out; a multiple of "
                      "every decimation")
                .range(1, 1 << 28),
            parameter("type", &parameters::type, "of the powers, f32, s8 or u8")
                .one_of("f32", "s8", "u8"),
            parameter("tolerance",
                      &parameters::tolerance,
                      "largest error of a delay, in output times of the "
                      "trial, from 0.5 (rounded) to 64; with a larger one trials share "
                      "more sums")
                .range(0.5, 64),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    static sptr make(const parameters& p);

    //! Returns the name of the implementation, for example "host".
    virtual std::string implementation() const = 0;
    //! Returns how many later times of the input the output of one time needs.
    virtual int64_t longest_delay() const = 0;
    //! Returns the number of trials, that of `dms`.
    virtual int trials() const = 0;
    //! Returns the delays that are used, in times of the input: [trial][channel].
    virtual std::vector<int64_t> delays() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEDISPERSER_H */
