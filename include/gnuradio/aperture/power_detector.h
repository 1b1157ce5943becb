/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_POWER_DETECTOR_H
#define INCLUDED_APERTURE_POWER_DETECTOR_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/beam_parameters.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <cstdint>
#include <string>
#include <tuple>

namespace gr::aperture {

/*!
 * \brief Integrates powers or Stokes parameters of beams.
 * \ingroup aperture
 *
 * Products are `power`, |y|^2 of each beam; or, of the pairs 2m, 2m+1 (x, y or r, l),
 * `I`, `IQUV` or `coherency` XX, YY, Re XY*, Im XY*. I = XX + YY, Q = XX - YY, U = 2 Re
 * XY*, V = 2 Im XY*; circular: I = RR + LL, Q = 2 Re RL*, U = 2 Im RL*, V = RR - LL.
 *
 * In: frames `[channel][beam][time]` from beamformer. Out: one f32 item
 * `[beam or pair][product][channel]` for each integration of a number of spectra, with
 * the tags `rx_time` (of its first spectrum), `spectra` (its length) and `counted` (the
 * spectra that were summed, without missing ones: one count for all, or one for each beam
 * or pair and product), and `partial` if the input ended within it. That integration is
 * the last one: none is made of the zeros alone that fill the last frame.
 *
 * With `spectra_per_slice`, input port 1 takes the masks of the frames from a flagger
 * that looks at beams, one `[channel][beam][(slices + 7) / 8]` of u8 for each frame, and
 * output port 1 gives the counts, one u32 item `[beam or pair][channel]` for each
 * integration: the spectra that are neither missing nor flagged (for a pair, in neither
 * beam), of all summed channels together. With `mean`, |x|^2, |y|^2 and x y* are each
 * divided by their own counts, channel by channel (0 where that is 0). `counted` does not
 * consider flags. Masks that end before the frames, or whose rx_time is another, are an
 * error.
 */
class APERTURE_API power_detector : virtual public block_on_device
{
public:
    typedef std::shared_ptr<power_detector> sptr;

    struct parameters : detection_parameters {
        int channels = 1024;
        int beams = 1;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        int spectra_per_slice = 0;
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
                parameter("beams", &parameters::beams, "of a frame").range(1, 65536),
                parameter("spectra_per_frame",
                          &parameters::spectra_per_frame,
                          "spectra in a frame")
                    .range(1, 1 << 30),
                parameter("type", &parameters::type, "of the voltages, fc32 or sc8")
                    .one_of("fc32", "sc8")),
            detection_parameters::describe(),
            std::make_tuple(
                parameter("spectra_per_slice",
                          &parameters::spectra_per_slice,
                          "spectra of a bit of the masks of beams that come in on port "
                          "1, a divisor of spectra_per_frame; 0: there are no masks, and "
                          "no counts")
                    .range(0, 1 << 30),
                device_parameter<parameters>(),
                latency_parameter<parameters>()));
    }

    static sptr make(const parameters& p);

    //! Returns the name of the implementation, for example "host avx512 vnni".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_POWER_DETECTOR_H */
