/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_EXCHANGE_H
#define INCLUDED_APERTURE_EXCHANGE_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Exchanges frames between devices: from ranges of inputs to ranges of channels.
 * \ingroup aperture
 *
 * In: a port for each of `input_devices`, of frames `[channel][input][time]` with all
 * channels of a range of the inputs, as the F-engine of that device makes them. Out: a
 * port for each of `output_devices`, of frames `[channel][input][time]` with all inputs
 * of a range of the channels, for the X-engine or the beamformer of that device. Where n
 * inputs or channels are split into N ranges, range k is from floor(k n / N) to floor
 * ((k + 1) n / N) - 1: see range_of().
 *
 * The frames of all ports must begin at the same times. Frames with rx_time are aligned
 * by it: frames that some ports have and others lack are zeros there, and tagged as
 * missing.
 *
 * Each output is tagged with the rx_freq and the bandwidth of its own channels; `missing`
 * and `partial` are those of all inputs, on all outputs; other tags are those of port 0.
 */
class APERTURE_API exchange : virtual public block_on_device
{
public:
    typedef std::shared_ptr<exchange> sptr;

    struct parameters {
        int channels = 1024;
        int inputs = 2;
        int spectra_per_frame = 256;
        std::string type = "fc32";
        std::vector<std::string> input_devices{ "auto", "auto" };
        std::vector<std::string> output_devices{ "auto", "auto" };
        int spectra_per_slice = 0;
        std::string by = "auto";
        double most_gap = 60;
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("channels", &parameters::channels, "of all ranges")
                .range(1, 1 << 24),
            parameter("inputs", &parameters::inputs, "of all ranges").range(1, 65536),
            parameter(
                "spectra_per_frame", &parameters::spectra_per_frame, "spectra in a frame")
                .range(1, 1 << 26),
            parameter("type", &parameters::type, "of the voltages, fc32, sc8 or sc4")
                .one_of("fc32", "sc8", "sc4"),
            parameter("input_devices",
                      &parameters::input_devices,
                      "device of each input port, that of the block before it: auto, "
                      "cpu, cuda or "
                      "cuda:N")
                .called("Devices of the Inputs"),
            parameter("output_devices",
                      &parameters::output_devices,
                      "device of each output port, that of the block behind it; all are "
                      "the CPU, "
                      "or all are GPUs")
                .called("Devices of the Outputs"),
            parameter("spectra_per_slice",
                      &parameters::spectra_per_slice,
                      "above 0: the ports carry not the frames but their masks "
                      "[channel][input][byte], with slices of that many spectra")
                .range(0, 1 << 30),
            parameter(
                "by",
                &parameters::by,
                "means of moving items between GPUs: copies (by the GPUs' copy engines), "
                "nccl (which has to be installed), or auto: copies where the GPUs "
                "can access each other's memory, otherwise nccl")
                .one_of("auto", "copies", "nccl"),
            most_gap_parameter<parameters>(
                "longest gap that is filled with missing frames, seconds"),
            latency_parameter<parameters>());
    }

    static sptr make(const parameters& p);

    /*!
     * Returns the first of the inputs, or channels, of a port, and how many there are.
     * \param part number of the port
     * \param parts number of ports
     * \param total inputs, or channels, of all ports
     * \throws std::invalid_argument
     */
    static std::pair<int, int> range_of(int part, int parts, int total);

    //! Names what moves the items, for example "cuda, copies".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_EXCHANGE_H */
