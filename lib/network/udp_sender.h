/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_UDP_SENDER_H
#define INCLUDED_APERTURE_NETWORK_UDP_SENDER_H

#include <gnuradio/aperture/api.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::aperture::network {

//! Sends datagrams, many with each call of the system (sendmmsg).
class APERTURE_API udp_sender
{
public:
    //! \param interface network interface of multicast, by name or address; empty: the
    //! system's choice
    //! \throws std::runtime_error
    udp_sender(const std::vector<boost::asio::ip::udp::endpoint>& addresses,
               const std::string& interface);
    //! \param addresses each as parse_endpoint() reads it
    //! \throws std::invalid_argument naming `addresses`, or std::runtime_error
    udp_sender(const std::vector<std::string>& addresses, const std::string& interface);

    //! Queues a datagram, which is sent with the next flush(), or when there are 64.
    void send(int to, std::vector<uint8_t> bytes);
    //! \throws std::runtime_error naming address and port
    void flush();

private:
    static constexpr size_t most = 64;
    struct waiting {
        int to;
        std::vector<uint8_t> bytes;
    };
    const std::vector<boost::asio::ip::udp::endpoint> d_addresses;
    boost::asio::io_context d_context;
    boost::asio::ip::udp::socket d_socket;
    std::vector<waiting> d_waiting;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_UDP_SENDER_H */
