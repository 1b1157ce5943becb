/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_PACKET_INTAKE_H
#define INCLUDED_APERTURE_NETWORK_PACKET_INTAKE_H

#include "formats/packets/packet_layout.h"
#include "network/packet_window.h"
#include <atomic>

namespace gr::aperture::network {

//! Reads the headers of datagrams, and puts those of wanted streams into a window.
class packet_intake
{
public:
    /*!
     * \param streams numbers of the wanted streams in headers, in the order of the window
     */
    packet_intake(const formats::packet_layout& layout,
                  const formats::packet_settings& settings,
                  const std::vector<int>& streams,
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
    const formats::packet_layout& d_layout;
    const formats::packet_settings d_settings;
    const size_t d_packet_bytes;
    const sender_list d_senders;
    std::vector<int> d_places; // index of each stream in the window, -1: none
    packet_window& d_window;
    counts d_counts;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_PACKET_INTAKE_H */
