/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_ENDPOINT_H
#define INCLUDED_APERTURE_NETWORK_ENDPOINT_H

#include <boost/asio/ip/udp.hpp>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::aperture::network {

//! The sender of a datagram: an IPv6 address (IPv4 as ::ffff:a.b.c.d), and a port.
struct sender {
    std::array<uint8_t, 16> address{};
    uint16_t port = 0;

    bool operator==(const sender& other) const
    {
        return port == other.port && address == other.address;
    }
};

sender to_sender(const boost::asio::ip::udp::endpoint& endpoint);
std::string text_of(const boost::asio::ip::udp::endpoint& endpoint);
std::string text_of(const sender& s);

/*!
 * Reads "address:port" in digits, an IPv6 address in brackets: 239.1.2.3:7148,
 * [ff15::1]:7148.
 * \param parameter name of the parameter, for the error
 * \throws std::invalid_argument naming the parameter, its value and what is allowed
 */
boost::asio::ip::udp::endpoint parse_endpoint(const std::string& parameter,
                                              const std::string& text);

//! A set of senders, as a list of addresses, of networks and of addresses with ports.
class sender_list
{
public:
    sender_list() = default;
    /*!
     * \param texts each "address", "address/bits" or "address:port" (IPv6 with a port in
     * brackets); none: all senders
     * \throws std::invalid_argument naming the parameter, its value and what is allowed
     */
    sender_list(const std::string& parameter, const std::vector<std::string>& texts);

    bool has(const sender& s) const;

private:
    struct entry {
        sender first;
        int bits; // bits of the address that count, of 128
    };
    std::vector<entry> d_entries;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_ENDPOINT_H */
