/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "network/udp_receiver.h"
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <boost/asio/ip/multicast.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <vector>

namespace gr::aperture::network {

namespace {

namespace ip = boost::asio::ip;

constexpr size_t datagrams_at_once = 64;
constexpr int idle_ms = 50;

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

int64_t time_now()
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void check_core(const std::string& parameter, int core)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    std::string cores;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed))
            cores += (cores.empty() ? "" : ", ") + std::to_string(i);
    require(core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, &allowed),
            parameter,
            std::to_string(core),
            "a core that this process may use: " + cores);
}

void pin_thread(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    const int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    if (error)
        throw std::runtime_error("core " + std::to_string(core) + ": " +
                                 std::strerror(error));
}

struct udp_receiver::batch {
    explicit batch(size_t bytes_of_one)
        : bytes(bytes_of_one),
          memory(datagrams_at_once * bytes),
          control(datagrams_at_once),
          names(datagrams_at_once),
          vectors(datagrams_at_once),
          messages(datagrams_at_once),
          found(datagrams_at_once)
    {
        for (size_t i = 0; i < datagrams_at_once; i++)
            vectors[i] = { memory.data() + i * bytes, bytes };
    }

    struct space {
        alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(uint32_t))];
    };
    const size_t bytes;
    std::vector<uint8_t> memory;
    std::vector<space> control;
    std::vector<sockaddr_storage> names;
    std::vector<iovec> vectors;
    std::vector<mmsghdr> messages;
    std::vector<datagram> found;
};

udp_receiver::udp_receiver(const parameters& p) : d_p(p), d_socket(d_context)
{
    d_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    try {
        open();
    } catch (...) {
        ::close(d_wake);
        throw;
    }
    // the address stays free for others until packets are wanted
    close();
}

void udp_receiver::close()
{
    boost::system::error_code ignored;
    d_socket.close(ignored);
}

udp_receiver::~udp_receiver()
{
    stop();
    ::close(d_wake);
}

void udp_receiver::open()
{
    const auto address = d_p.address.address();
    const std::string& interface = d_p.interface;
    boost::system::error_code error;
    const auto check = [&](const char* what) {
        if (error) {
            const std::string why = error.message();
            close();
            throw trouble(d_p.address, what, why);
        }
    };
    d_socket.open(d_p.address.protocol(), error);
    check("a socket cannot be opened");
    if (address.is_multicast())
        // others on this host may listen to the group as well
        d_socket.set_option(ip::udp::socket::reuse_address(true), error);
    check("the address cannot be shared");
    if (address.is_v6()) {
        d_socket.set_option(ip::v6_only(true), error);
        check("the socket cannot be one of IPv6 alone");
    }
    d_socket.bind(d_p.address, error);
    check("cannot be bound");
    if (address.is_multicast()) {
        const unsigned index = interface.empty() ? 0 : if_nametoindex(interface.c_str());
        const auto of_interface = ip::make_address(interface, error);
        const bool is_address = !interface.empty() && !error;
        error.clear();
        if (!interface.empty() && index == 0 && !is_address)
            throw trouble(d_p.address,
                          "cannot join the group",
                          "there is no interface " + interface);
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
        check("cannot join the group");
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

void udp_receiver::start(taker take)
{
    stop();
    d_failed = false;
    open();
    d_dropped = 0;
    d_drops_before = 0;
    uint64_t old;
    while (::read(d_wake, &old, sizeof old) > 0) {
    }
    d_thread = std::thread([this, take = std::move(take)] {
        try {
            run(take);
        } catch (const std::exception& error) {
            d_error = error.what();
            d_failed = true;
        }
    });
}

void udp_receiver::stop()
{
    if (!d_thread.joinable())
        return;
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(d_wake, &one, sizeof one);
    d_thread.join();
    close();
}

std::string udp_receiver::error() const { return d_failed ? d_error : std::string(); }

size_t udp_receiver::receive(batch& b)
{
    for (size_t i = 0; i < datagrams_at_once; i++) {
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
                               datagrams_at_once,
                               MSG_DONTWAIT,
                               nullptr);
    if (got < 0) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED)
            return 0;
        throw trouble(d_p.address, "cannot be received", std::strerror(errno));
    }
    const int64_t now = time_now();
    for (int i = 0; i < got; i++) {
        const auto& m = b.messages[size_t(i)];
        b.found[size_t(i)] = { sender_of(b.names[size_t(i)]),
                               now,
                               static_cast<const uint8_t*>(b.vectors[size_t(i)].iov_base),
                               m.msg_len,
                               (m.msg_hdr.msg_flags & MSG_TRUNC) != 0 };
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

void udp_receiver::run(const taker& take)
{
    pthread_setname_np(pthread_self(), "packets");
    if (d_p.core >= 0)
        pin_thread(d_p.core);
    batch b(d_p.most_bytes);
    pollfd wanted[2] = { { d_socket.native_handle(), POLLIN, 0 }, { d_wake, POLLIN, 0 } };
    for (;;) {
        const int ready = ::poll(wanted, 2, idle_ms);
        if (ready < 0 && errno != EINTR)
            throw trouble(d_p.address, "cannot be waited for", std::strerror(errno));
        if (wanted[1].revents)
            return;
        const size_t got = ready > 0 ? receive(b) : 0;
        take(b.found.data(), got);
        // a flood must not keep the thread from being stopped, so poll() is asked again
    }
}

} // namespace gr::aperture::network
