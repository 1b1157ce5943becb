/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FLAGGER_H
#define INCLUDED_APERTURE_FLAGGER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/flagging_parameters.h>
#include <string>
#include <tuple>
#include <utility>

namespace gr::aperture {

/*!
 * \brief Finds interference in frames, sets it to zero, and says where.
 * \ingroup aperture
 *
 * In: frames `[channel][input][time]`. Out 0: the same, flagged voltages zero. Out 1: for
 * each frame its mask `[channel][input][byte]`: slice s is bit s % 8, counted from the
 * lowest, of byte s / 8. Tags go on with the frames; the mask has those of the time and
 * the frequency, too.
 *
 * Message port `status` sends, once a second, a dictionary with `event` `flags`; the
 * counts since the start, each a u64vector, `cells` and `flagged` of each input and
 * `flagged_of_channels`; and `occupancy`, an f64vector with the fraction of each input
 * that was flagged since the last message.
 */
class APERTURE_API flagger : virtual public block_on_device, public flagging_block
{
public:
    typedef std::shared_ptr<flagger> sptr;

    struct parameters : flagging_parameters {
        int channels = 1024;
        int inputs = 2;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::tuple_cat(
            std::make_tuple(
                parameter("channels", &parameters::channels, "of a frame")
                    .range(1, 1 << 24),
                parameter("inputs", &parameters::inputs, "of a frame").range(1, 65536),
                parameter("spectra_per_frame",
                          &parameters::spectra_per_frame,
                          "spectra in a frame")
                    .range(1, 1 << 30),
                parameter(
                    "type", &parameters::type, "type of the voltages, fc32, sc8 or sc4")
                    .one_of("fc32", "sc8", "sc4")),
            flagging_parameters::describe<parameters>(
                "spectra of a slice, a divisor of spectra_per_frame, at most 65536; 0: "
                "as many as a frame has"),
            std::make_tuple(device_parameter<parameters>(),
                            latency_parameter<parameters>()));
    }

    static sptr make(const parameters& p);

    //! Returns the name of the implementation, for example "host".
    virtual std::string implementation() const = 0;

    /*!
     * Returns the lower and the upper limit of the spectral kurtosis of noise. Half of
     * false_alarms lie below, and half above.
     * \throws std::invalid_argument
     */
    static std::pair<double, double> kurtosis_limits(int spectra, double false_alarms);
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_FLAGGER_H */
