/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_REPLAY_H
#define INCLUDED_APERTURE_REPLAY_H

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
 * \brief Sends given items again and again, out of the memory of a device.
 * \ingroup aperture
 *
 * The data goes to the device once, when the flowgraph starts: a source as fast as the
 * device, for tests, lessons and benchmarks. It has no port in and one port out.
 *
 * Where the buffer of the output holds whole repetitions of the data, they are copied
 * there once, and from then on the source takes no time of the device. The buffer is made
 * so large where that is at most four times its usual size: on a GPU this holds for data
 * of a whole number of times 2 MiB, or of a power of two below, up to four times the
 * usual 32 MiB (8 MiB on a GPU of less than 64 GiB), or the size that
 * set_min_output_buffer() asks for. Any other data is copied for each repetition.
 *
 * Item 0 carries rx_time, rx_freq, and those of rx_rate, bandwidth and samples_per_item
 * that were given. The clock goes on from one repetition to the next, without a gap. Each
 * start of the flowgraph, also by unlock(), begins at the first item.
 */
class APERTURE_API replay : virtual public block_on_device
{
public:
    typedef std::shared_ptr<replay> sptr;

    struct parameters {
        std::vector<char> data = {};
        int item_size = 8;
        int64_t repeats = 1;
        std::pair<uint64_t, double> start_time = { 1704067200, 0 };
        double center_frequency = 0;
        double rate = 0;
        double bandwidth = 0;
        int samples_per_item = 0;
        std::string device = "auto";
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            required_parameter(
                "data",
                &parameters::data,
                "whole items, one after the other: bytes, or a NumPy array "
                "of any type and shape"),
            parameter("item_size", &parameters::item_size, "bytes of an item")
                .range(1, 2147483647),
            parameter("repeats",
                      &parameters::repeats,
                      "number of times that the data is sent; 0: for ever")
                .range(0),
            parameter(
                "start_time",
                &parameters::start_time,
                "time of the first item: whole seconds since 1970 and the fraction of a "
                "second"),
            parameter("center_frequency", &parameters::center_frequency, "Hz: rx_freq")
                .finite()
                .in("Hz"),
            parameter("rate", &parameters::rate, "items a second: rx_rate; 0: not tagged")
                .range(0)
                .in("Hz")
                .called("Items a Second"),
            parameter("bandwidth",
                      &parameters::bandwidth,
                      "bandwidth of channelised data, Hz; 0: not tagged")
                .range(0)
                .in("Hz"),
            parameter("samples_per_item",
                      &parameters::samples_per_item,
                      "samples of one input that an item of channelised data spans; 0: "
                      "not tagged")
                .range(0),
            device_parameter<parameters>());
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(parameters p);

    /*!
     * Ends the stream: blocks downstream get all that was sent, and then end as well. If
     * the source is not running, its next start ends at once.
     */
    virtual void finish() = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_REPLAY_H */
