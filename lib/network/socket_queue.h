/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_SOCKET_QUEUE_H
#define INCLUDED_APERTURE_NETWORK_SOCKET_QUEUE_H

#include "network/receive_queue.h"
#include <boost/asio/io_context.hpp>
#include <memory>

namespace gr::aperture::network {

//! A socket, from which many datagrams are read with each call of the system (recvmmsg).
class socket_queue : public receive_queue
{
public:
    struct parameters {
        //! Address to bind; a multicast group is joined.
        boost::asio::ip::udp::endpoint address;
        int index = 0; //!< index of the address
        std::string
            interface; //!< interface of a multicast group, by name or address; empty: any
        int buffer_bytes = 1 << 26;
        size_t most_bytes = 9000; //!< longer datagrams are cut
        //! The socket only keeps the address and joins its group, and no datagram comes.
        bool only_joins = false;
    };

    //! Tries whether the address can be bound.
    //! \throws std::runtime_error naming address and port
    explicit socket_queue(const parameters& p);
    ~socket_queue() override;

    void open() override;
    void close() override;
    size_t receive(datagram* found, size_t most) override;
    void release() override {}
    void wait(int wake, int most_ms) override;

private:
    struct batch;
    void join_group();

    const parameters d_p;
    boost::asio::io_context d_context;
    boost::asio::ip::udp::socket d_socket;
    std::unique_ptr<batch> d_batch;
    uint32_t d_drops_before = 0; // drops that the system counts for a socket
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_SOCKET_QUEUE_H */
