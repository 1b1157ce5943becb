/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/socket_queue.h"
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <boost/asio/ip/multicast.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <cerrno>
#include <stdexcept>

namespace gr::aperture::network {

namespace {

namespace ip = boost::asio::ip;

std::runtime_error
trouble(const ip::udp::endpoint& where, const std::string& what, const std::string& why)
{
    return std::runtime_error("packets to " + text_of(where) + ": " + what + ": " + why);
}

sender sender_of(const sockaddr_storage& name)
{
    sender s;
    if (name.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(name);
        s.address[10] = s.address[11] = 0xff;
        std::memcpy(s.address.data() + 12, &v4.sin_addr, 4);
        s.port = ntohs(v4.sin_port);
    } else {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(name);
        std::memcpy(s.address.data(), &v6.sin6_addr, 16);
        s.port = ntohs(v6.sin6_port);
    }
    return s;
}

} // namespace

struct socket_queue::batch {
    explicit batch(size_t bytes_of_one)
        : memory(datagrams_at_once * bytes_of_one),
          control(datagrams_at_once),
          names(datagrams_at_once),
          vectors(datagrams_at_once),
          messages(datagrams_at_once)
    {
        for (size_t i = 0; i < datagrams_at_once; i++)
            vectors[i] = { memory.data() + i * bytes_of_one, bytes_of_one };
    }

    struct space {
        alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(uint32_t))];
    };
    std::vector<uint8_t> memory;
    std::vector<space> control;
    std::vector<sockaddr_storage> names;
    std::vector<iovec> vectors;
    std::vector<mmsghdr> messages;
};

socket_queue::socket_queue(const parameters& p) : d_p(p), d_socket(d_context)
{
    open();
    // the address stays free for others until packets are wanted
    close();
}

socket_queue::~socket_queue() { close(); }

void socket_queue::close()
{
    boost::system::error_code ignored;
    d_socket.close(ignored);
}

void socket_queue::join_group()
{
    const auto address = d_p.address.address();
    const std::string& interface = d_p.interface;
    boost::system::error_code error;
    const unsigned index = interface.empty() ? 0 : if_nametoindex(interface.c_str());
    const auto of_interface = ip::make_address(interface, error);
    const bool is_address = !interface.empty() && !error;
    error.clear();
    if (!interface.empty() && index == 0 && !is_address)
        throw trouble(
            d_p.address, "cannot join the group", "there is no interface " + interface);
    if (address.is_v6()) {
        d_socket.set_option(ip::multicast::join_group(address.to_v6(), index), error);
    } else if (index != 0) {
        ip_mreqn request{};
        const auto bytes = address.to_v4().to_bytes();
        std::memcpy(&request.imr_multiaddr, bytes.data(), 4);
        request.imr_ifindex = int(index);
        if (setsockopt(d_socket.native_handle(),
                       IPPROTO_IP,
                       IP_ADD_MEMBERSHIP,
                       &request,
                       sizeof request))
            error.assign(errno, boost::system::system_category());
    } else if (is_address && of_interface.is_v4()) {
        d_socket.set_option(
            ip::multicast::join_group(address.to_v4(), of_interface.to_v4()), error);
    } else {
        d_socket.set_option(ip::multicast::join_group(address.to_v4()), error);
    }
    if (error)
        throw trouble(d_p.address, "cannot join the group", error.message());
}

void socket_queue::open()
{
    const auto address = d_p.address.address();
    boost::system::error_code error;
    const auto check = [&](const char* what) {
        if (error)
            throw trouble(d_p.address, what, error.message());
    };
    d_dropped = 0;
    d_drops_before = 0;
    d_socket.open(d_p.address.protocol(), error);
    check("a socket cannot be opened");
    try {
        if (address.is_multicast())
            // others on this host may listen to the group as well
            d_socket.set_option(ip::udp::socket::reuse_address(true), error);
        check("the address cannot be shared");
        if (address.is_v6()) {
            d_socket.set_option(ip::v6_only(true), error);
            check("the socket cannot be one of IPv6 alone");
        }
        if (d_p.only_joins) {
            sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
            const sock_fprog program{ 1, &nothing };
            setsockopt(d_socket.native_handle(),
                       SOL_SOCKET,
                       SO_ATTACH_FILTER,
                       &program,
                       sizeof program);
        }
        d_socket.bind(d_p.address, error);
        check("cannot be bound");
        if (address.is_multicast())
            join_group();
    } catch (...) {
        close();
        throw;
    }
    const int handle = d_socket.native_handle();
    const int on = 1;
    // no root is needed for either; the system may give less than is asked for
    setsockopt(handle, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    setsockopt(handle, SOL_SOCKET, SO_RCVBUF, &d_p.buffer_bytes, sizeof(int));
    int given = 0;
    socklen_t size = sizeof given;
    getsockopt(handle, SOL_SOCKET, SO_RCVBUF, &given, &size);
    d_buffer_bytes = given / 2; // Linux reports twice the size asked for
}

size_t socket_queue::receive(datagram* found, size_t most)
{
    if (!d_batch)
        d_batch = std::make_unique<batch>(d_p.most_bytes);
    batch& b = *d_batch;
    most = std::min(most, datagrams_at_once);
    for (size_t i = 0; i < most; i++) {
        msghdr& m = b.messages[i].msg_hdr;
        m = {};
        m.msg_name = &b.names[i];
        m.msg_namelen = sizeof b.names[i];
        m.msg_iov = &b.vectors[i];
        m.msg_iovlen = 1;
        m.msg_control = b.control[i].bytes;
        m.msg_controllen = sizeof b.control[i].bytes;
    }
    const int got = ::recvmmsg(d_socket.native_handle(),
                               b.messages.data(),
                               unsigned(most),
                               MSG_DONTWAIT,
                               nullptr);
    if (got < 0) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED)
            return 0;
        throw trouble(d_p.address, "cannot be received", std::strerror(errno));
    }
    const int64_t now = time_now();
    for (size_t i = 0; i < size_t(got); i++) {
        const auto& m = b.messages[i];
        found[i] = { sender_of(b.names[i]),
                     now,
                     byte_view::of(static_cast<const uint8_t*>(b.vectors[i].iov_base),
                                   m.msg_len),
                     (m.msg_hdr.msg_flags & MSG_TRUNC) != 0,
                     d_p.index };
    }
    if (got > 0) {
        // the newest count is with the last one
        msghdr& last = b.messages[size_t(got - 1)].msg_hdr;
        for (cmsghdr* c = CMSG_FIRSTHDR(&last); c; c = CMSG_NXTHDR(&last, c))
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
                uint32_t drops;
                std::memcpy(&drops, CMSG_DATA(c), sizeof drops);
                d_dropped += drops - d_drops_before; // right even after a wrap
                d_drops_before = drops;
            }
    }
    return size_t(got);
}

void socket_queue::wait(int wake, int most_ms)
{
    pollfd wanted[2] = { { d_socket.native_handle(), POLLIN, 0 }, { wake, POLLIN, 0 } };
    if (::poll(wanted, 2, most_ms) < 0 && errno != EINTR)
        throw trouble(d_p.address, "cannot be waited for", std::strerror(errno));
}

} // namespace gr::aperture::network
