/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_PACKET_INTAKE_H
#define INCLUDED_APERTURE_NETWORK_PACKET_INTAKE_H

#include "formats/packets/header_table.h"
#include "network/packet_window.h"
#include <atomic>

namespace gr::aperture::network {

//! Reads the headers of datagrams, and puts those of wanted streams into a window.
class packet_intake
{
public:
    /*!
     * \param channels, inputs numbers of the wanted channels and inputs in headers; the
     * streams of the window are [channel][input]
     */
    packet_intake(const formats::header_table& headers,
                  const std::vector<int>& channels,
                  const std::vector<int>& inputs,
                  const sender_list& senders,
                  packet_window& window);

    //! Takes datagrams. Threads may call it at the same time.
    void take(const datagram* datagrams, size_t count);

    struct counts {
        std::atomic<uint64_t> received{ 0 };
        std::atomic<uint64_t> refused{ 0 }; //!< datagrams of senders that are not allowed
        std::atomic<uint64_t> wrong{ 0 }; //!< damaged ones, and wrong lengths and headers
        std::atomic<uint64_t> unwanted{ 0 }; //!< datagrams of other streams
    };
    const counts& counted() const { return d_counts; }
    void clear();

private:
    const formats::header_table d_headers;
    const sender_list d_senders;
    // index of each number in headers, -1: none
    const std::vector<int> d_channels, d_inputs;
    const int d_groups; // groups of inputs
    packet_window& d_window;
    counts d_counts;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_PACKET_INTAKE_H */
