/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_UDP_FRAME_H
#define INCLUDED_APERTURE_NETWORK_UDP_FRAME_H

#include "network/datagram.h"
#include <unordered_map>
#include <optional>

namespace gr::aperture::network {

//! The headers of a frame that may have a UDP datagram.
struct udp_frame {
    enum class kind { datagram, fragment, other };

    sender from, to;
    size_t payload = 0; //!< place of the payload, from the frame's begin
    size_t bytes = 0;   //!< bytes of the payload, as UDP's header says
    //! Lengths agree with each other and with the frame, and IPv4's checksum is right.
    bool consistent = false;
    size_t ip = 0; //!< place of the header of IP
    size_t udp() const { return payload - 8; }
};

/*!
 * Reads the headers of Ethernet, with tags of VLANs, and what follows.
 * \param frame the frame; its headers have to lie in the first piece
 */
udp_frame::kind read_ethernet(const byte_view& frame, udp_frame& found);
//! Reads headers as of Ethernet with other places: `bytes` of the link's own header, and
//! the type of what follows at `type_at`.
udp_frame::kind
read_link(const byte_view& frame, size_t bytes, size_t type_at, udp_frame& found);
//! Reads the headers of IP and UDP, from a place within a frame.
udp_frame::kind read_ip(const byte_view& frame, size_t at, udp_frame& found);

/*!
 * Returns whether UDP's checksum is right, or is none.
 *
 * A datagram of this host has, on a virtual interface, only a part of the checksum: that
 * of addresses and length, as a card would add the rest when it sends. It counts as
 * right.
 */
bool has_right_checksum(const byte_view& frame, const udp_frame& headers);

//! Returns the sum of the 16-bit words of bytes, the first one high, not yet folded.
uint64_t sum_of_words(const uint8_t* data, size_t bytes);
//! Returns a sum of 16-bit words as a checksum.
uint16_t checksum_of(uint64_t sum);

//! The addresses that a source receives at, and their indices.
class address_table
{
public:
    explicit address_table(const std::vector<boost::asio::ip::udp::endpoint>& addresses);

    //! Returns the index of the address that a datagram is for; -1: none.
    int find(const sender& to) const;

private:
    struct hash {
        size_t operator()(const sender& s) const
        {
            uint64_t words[2];
            std::memcpy(words, s.address.data(), sizeof words);
            return size_t((words[0] ^ words[1] ^ s.port) * 0x9e3779b97f4a7c15u >> 20);
        }
    };
    std::unordered_map<sender, int, hash> d_indices;
};

/*!
 * Makes a datagram of a frame that a card received.
 * \returns nothing if the frame is of another protocol, another address or a fragment
 */
std::optional<datagram> datagram_of(const byte_view& frame,
                                    const address_table& addresses,
                                    int64_t arrival,
                                    bool checksum_is_known = false);

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_UDP_FRAME_H */
