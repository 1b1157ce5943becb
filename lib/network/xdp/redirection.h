/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_XDP_REDIRECTION_H
#define INCLUDED_APERTURE_NETWORK_XDP_REDIRECTION_H

#include <boost/asio/ip/udp.hpp>
#include <string>
#include <vector>

namespace gr::aperture::network {

//! A file descriptor that is closed with its owner.
class descriptor
{
public:
    descriptor() = default;
    explicit descriptor(int handle) : d_handle(handle) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(descriptor&& other);
    ~descriptor();
    int get() const { return d_handle; }

private:
    int d_handle = -1;
};

//! Returns an error about AF_XDP on an interface; for those of rights it says which.
std::runtime_error
xdp_trouble(const std::string& interface, const std::string& what, int error);

/*!
 * A program in the kernel, at an interface, which passes UDP datagrams to some addresses
 * on to AF_XDP sockets. All else goes on to the kernel: other addresses and protocols,
 * fragments, headers with options, and the datagrams of queues that have no such socket.
 *
 * It is removed with its owner, also where the process is killed.
 */
class redirection
{
public:
    //! \throws std::runtime_error naming the interface, and which rights are missing
    redirection(const std::string& interface,
                const std::vector<boost::asio::ip::udp::endpoint>& addresses,
                int queues);

    //! Lets datagrams of a queue come to a socket.
    void add(int queue, int socket);
    //! Says where the program runs: in the card's driver, or behind it.
    bool in_driver() const { return d_in_driver; }

private:
    const std::string d_interface;
    descriptor d_addresses, d_sockets, d_program, d_link;
    bool d_in_driver = true;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_XDP_REDIRECTION_H */
