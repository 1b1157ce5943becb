/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_XENGINE_H
#define INCLUDED_APERTURE_XENGINE_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <string>
#include <tuple>

namespace gr::aperture {

/*!
 * \brief Correlates: sums the products of all pairs of inputs over time.
 * \ingroup aperture
 *
 * V[a,b] = sum_t x_a(t) conj(x_b(t)) for inputs a >= b, product a(a+1)/2 + b. Sums of sc8
 * and sc4 are exact and are rounded once, to fc32. For fc32 the components of a product
 * are wrong by at most 3.2e-5 of sum |x_a| |x_b|.
 *
 * In: frames `[channel][input][time]` from corner_turn. Out: one fc32 item
 * `[channel][product]` for each integration, with the tags `rx_time` (of its first
 * spectrum), `spectra` (its length) and `counted` (the spectra that were summed, without
 * missing ones), and `partial` on the last one if the input ended within it.
 *
 * With `spectra_per_slice`, input port 1 takes the masks of the frames from flagger, one
 * `[channel][input][(slices + 7) / 8]` of u8 for each frame, and output port 1 gives the
 * counts, one u32 item `[channel][product]` for each integration: the spectra in which
 * neither input is missing or flagged. Each channel of a product is divided by its own
 * count (0 where that is 0); `counted` does not consider flags, and is the most that the
 * counts can be. Masks that end before the frames, or whose rx_time is another, are an
 * error.
 */
class APERTURE_API xengine : virtual public block_on_device
{
public:
    typedef std::shared_ptr<xengine> sptr;

    struct parameters {
        int channels = 1024;
        int inputs = 2;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        double integration = 1;
        std::string integration_unit = "frames";
        bool normalise = true;
        int spectra_per_slice = 0;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("channels", &parameters::channels, "of a frame").range(1, 1 << 24),
            parameter("inputs", &parameters::inputs, "of a frame").range(1, 65536),
            parameter("spectra_per_frame",
                      &parameters::spectra_per_frame,
                      "spectra in a frame; of sc8 and sc4 on a GPU a multiple of 16")
                .range(1, 1 << 30),
            parameter("type", &parameters::type, "fc32, sc8 or sc4")
                .one_of("fc32", "sc8", "sc4"),
            parameter(
                "integration", &parameters::integration, "length in `integration_unit`")
                .can_be_set()
                .above(0, 1e9),
            parameter("integration_unit",
                      &parameters::integration_unit,
                      "frames, or seconds (rounded to whole frames, at least one)")
                .one_of("frames", "seconds"),
            parameter("normalise",
                      &parameters::normalise,
                      "divide each product by its own number of counted spectra")
                .can_be_set(),
            parameter("spectra_per_slice",
                      &parameters::spectra_per_slice,
                      "spectra in a slice of the masks on input port 1, a divisor of "
                      "spectra_per_frame; 0: there are no masks, and no counts")
                .range(0, 1 << 30),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    static sptr make(const parameters& p);

    //! Sets the length of the integrations from the next one on.
    virtual void set_integration(double length, const std::string& unit = "frames") = 0;
    //! Returns the frames in an integration; 0 while a length in seconds awaits rx_rate.
    virtual int frames_per_integration() const = 0;
    virtual void set_normalise(bool normalise) = 0;
    //! Returns the name of the implementation, for example "host avx512 vnni".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_XENGINE_H */
