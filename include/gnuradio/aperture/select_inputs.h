/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SELECT_INPUTS_H
#define INCLUDED_APERTURE_SELECT_INPUTS_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <string>
#include <tuple>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Selects inputs of frames.
 * \ingroup aperture
 *
 * In: frames `[channel][input][time]`. Out: frames of the selected inputs, in the order
 * in which they are named, for an X-engine or a beamformer that has a few of the inputs
 * beside one that has all. With `spectra_per_slice`, both ports carry masks instead,
 * `[channel][input][(slices + 7) / 8]` of u8 from flagger.
 *
 * All tags are passed on; `missing` and `settings` are those of the selected inputs, by
 * their numbers behind this block.
 */
class APERTURE_API select_inputs : virtual public block_on_device
{
public:
    typedef std::shared_ptr<select_inputs> sptr;

    struct parameters {
        int channels = 1024;
        int inputs = 2;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        std::vector<int> selected = { 0 };
        int spectra_per_slice = 0;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("channels", &parameters::channels, "of a frame").range(1, 1 << 24),
            parameter("inputs", &parameters::inputs, "of a frame that comes in")
                .range(1, 65536),
            parameter(
                "spectra_per_frame", &parameters::spectra_per_frame, "spectra in a frame")
                .range(1, 1 << 30),
            parameter("type", &parameters::type, "fc32, sc8 or sc4")
                .one_of("fc32", "sc8", "sc4"),
            parameter("selected",
                      &parameters::selected,
                      "list of inputs, each 0 to inputs - 1 and once"),
            parameter("spectra_per_slice",
                      &parameters::spectra_per_slice,
                      "above 0: the ports carry not the frames but their masks, with "
                      "slices of that many spectra")
                .range(0, 1 << 30),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    static sptr make(const parameters& p);

    //! Returns the name of the implementation.
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_SELECT_INPUTS_H */
