/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_PACKET_PLAN_H
#define INCLUDED_APERTURE_STREAM_PACKET_PLAN_H

#include "formats/packets/header_table.h"
#include "kernels/masks/mask.h"
#include "network/endpoint.h"
#include <gnuradio/aperture/api.h>
#include <gnuradio/io_signature.h>
#include <string>
#include <vector>

namespace gr::aperture {

//! The plan that the common parameters of packet_source and packet_sink lead to.
struct packet_plan {
    formats::packet_layout layout;
    formats::packet_settings settings;
    // numbers in headers: of channels (0 where there are none), and of inputs
    std::vector<int> channel_numbers, input_numbers;
    std::vector<boost::asio::ip::udp::endpoint> addresses;
    int inputs_per_port; //!< inputs of a port of samples
    int packets_per_frame;

    //! Returns whether the items are frames [channel][input][time], and not samples.
    bool frames() const { return layout.channelised(); }
    //! Returns the packets of one time: [channel][input] of these numbers.
    int streams() const { return int(channel_numbers.size() * input_numbers.size()); }
    //! Returns the channels of frames.
    int channels() const { return int(channel_numbers.size()) * settings.channels; }
    int all_inputs() const { return int(input_numbers.size()) * settings.inputs; }
    int ports() const { return frames() ? 1 : all_inputs() / inputs_per_port; }
    int spectra() const
    {
        return packets_per_frame * settings.samples;
    } //!< spectra of a frame
    //! Returns the bytes of a sample of an input.
    size_t element() const { return size_of(settings.type()); }
    //! Returns the bytes of an item.
    size_t item() const
    {
        return element() *
               (frames() ? size_t(channels()) * size_t(all_inputs()) * size_t(spectra())
                         : size_t(inputs_per_port));
    }
    //! Returns the table of the packets' headers.
    formats::header_table headers() const
    {
        return {
            layout, settings, int(channel_numbers.size()), int(input_numbers.size())
        };
    }
    //! Returns the layout of masks, in which a slice is a packet.
    kernels::mask_layout mask() const
    {
        return { channels(), all_inputs(), spectra(), settings.samples };
    }
    //! Returns the signature of the ports with samples or frames, and of one with masks.
    gr::io_signature::sptr signature(bool masks) const;
};

//! The parameters that a plan is made of.
struct packet_choices {
    std::string layout;
    std::vector<std::string> addresses;
    std::string coding;
    bool complex;
    int samples, inputs, channels;
    std::vector<int> streams, input_groups;
    double rate;
    double center_frequency, bandwidth;
    int inputs_per_port, packets_per_frame;
};

//! \throws std::invalid_argument naming the parameter, its value and what is allowed
APERTURE_API packet_plan plan_packets(const packet_choices& c);

//! Makes a plan from the parameters of a block, which have these names; parameters of the
//! band that it lacks are 0.
template <class Parameters>
packet_plan
plan_packets_of(const Parameters& p, double center_frequency = 0, double bandwidth = 0)
{
    return plan_packets({ p.layout,
                          p.addresses,
                          p.coding,
                          p.complex,
                          p.samples,
                          p.inputs,
                          p.channels,
                          p.streams,
                          p.input_groups,
                          p.rate,
                          center_frequency,
                          bandwidth,
                          p.inputs_per_port,
                          p.packets_per_frame });
}

/*!
 * Copies a column of a table into a column of another one.
 * \param from nullptr: zeros
 * \param from_stride, to_stride bytes from one row to the next
 * \param bytes bytes of the column in a row
 */
void copy_column(const char* from,
                 size_t from_stride,
                 char* to,
                 size_t to_stride,
                 size_t bytes,
                 int64_t rows);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_PACKET_PLAN_H */
