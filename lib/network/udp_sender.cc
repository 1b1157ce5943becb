/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/endpoint.h"
#include "network/udp_sender.h"
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <boost/asio/ip/multicast.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace gr::aperture::network {

namespace {

namespace ip = boost::asio::ip;

std::runtime_error trouble(const ip::udp::endpoint& to, const std::string& why)
{
    return std::runtime_error("packets to " + text_of(to) + ": cannot be sent: " + why);
}

std::vector<ip::udp::endpoint> endpoints_of(const std::vector<std::string>& addresses)
{
    std::vector<ip::udp::endpoint> found;
    found.reserve(addresses.size());
    for (const auto& address : addresses)
        found.push_back(parse_endpoint("addresses", address));
    return found;
}

} // namespace

udp_sender::udp_sender(const std::vector<std::string>& addresses,
                       const std::string& interface)
    : udp_sender(endpoints_of(addresses), interface)
{
}

udp_sender::udp_sender(const std::vector<ip::udp::endpoint>& addresses,
                       const std::string& interface)
    : d_addresses(addresses), d_socket(d_context)
{
    boost::system::error_code error;
    const auto& first = addresses.front();
    d_socket.open(first.protocol(), error);
    if (error)
        throw trouble(first, error.message());
    const int bytes = 1 << 22;
    setsockopt(d_socket.native_handle(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (interface.empty())
        return;
    const unsigned index = if_nametoindex(interface.c_str());
    if (first.address().is_v6()) {
        if (index == 0)
            throw trouble(first, "there is no interface " + interface);
        d_socket.set_option(ip::multicast::outbound_interface(index), error);
    } else if (index != 0) {
        ip_mreqn request{};
        request.imr_ifindex = int(index);
        if (setsockopt(d_socket.native_handle(),
                       IPPROTO_IP,
                       IP_MULTICAST_IF,
                       &request,
                       sizeof request))
            error.assign(errno, boost::system::system_category());
    } else {
        const auto address = ip::make_address_v4(interface, error);
        if (error)
            throw trouble(first, "there is no interface " + interface);
        d_socket.set_option(ip::multicast::outbound_interface(address), error);
    }
    if (error)
        throw trouble(first, error.message());
}

void udp_sender::send(int to, std::vector<uint8_t> bytes)
{
    d_waiting.push_back({ to, std::move(bytes) });
    if (d_waiting.size() == most)
        flush();
}

void udp_sender::flush()
{
    std::array<mmsghdr, most> messages{};
    std::array<iovec, most> vectors;
    for (size_t i = 0; i < d_waiting.size(); i++) {
        auto& w = d_waiting[i];
        vectors[i] = { w.bytes.data(), w.bytes.size() };
        auto& m = messages[i].msg_hdr;
        const auto& to = d_addresses[size_t(w.to)];
        m.msg_name = const_cast<void*>(static_cast<const void*>(to.data()));
        m.msg_namelen = socklen_t(to.size());
        m.msg_iov = &vectors[i];
        m.msg_iovlen = 1;
    }
    for (size_t sent = 0; sent < d_waiting.size();) {
        const int now = ::sendmmsg(d_socket.native_handle(),
                                   messages.data() + sent,
                                   unsigned(d_waiting.size() - sent),
                                   0);
        if (now > 0) {
            sent += size_t(now);
            continue;
        }
        // an error of an earlier datagram: no receiver yet
        if (errno == ECONNREFUSED || errno == EINTR || errno == ENOBUFS)
            continue;
        const auto where = d_addresses[size_t(d_waiting[sent].to)];
        const std::string why = std::strerror(errno);
        d_waiting.clear();
        throw trouble(where, why);
    }
    d_waiting.clear();
}

} // namespace gr::aperture::network
