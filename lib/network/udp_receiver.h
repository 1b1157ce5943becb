/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_UDP_RECEIVER_H
#define INCLUDED_APERTURE_NETWORK_UDP_RECEIVER_H

#include "network/packet_intake.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

namespace gr::aperture::network {

/*!
 * A socket that datagrams come to, and the thread that reads them, many with each call of
 * the system (recvmmsg).
 *
 * Another way of receiving, such as ibverbs, would replace this class: it calls `take`
 * with batches of datagrams.
 */
class udp_receiver
{
public:
    struct parameters {
        //! Address to bind; a multicast group is joined.
        boost::asio::ip::udp::endpoint address;
        std::string
            interface; //!< interface of a multicast group, by name or address; empty: any
        int buffer_bytes = 1 << 26;
        size_t most_bytes = 9000; //!< longer datagrams are cut
        int core = -1;            //!< CPU core that the thread runs on; -1: any
    };
    //! Takes datagrams; also called with none, when none have come for 50 ms.
    using taker = std::function<void(const datagram*, size_t)>;

    //! Tries whether the address can be bound.
    //! \throws std::runtime_error naming address and port
    explicit udp_receiver(const parameters& p);
    ~udp_receiver();

    //! Binds the socket and starts the thread.
    //! \throws std::runtime_error naming address and port
    void start(taker take);
    //! Ends the thread and closes the socket.
    void stop();

    //! Returns the bytes of the socket's buffer that the system gives.
    int buffer_bytes() const { return d_buffer_bytes; }
    //! Returns the datagrams that the system dropped, as the socket's buffer was full.
    uint64_t dropped() const { return d_dropped; }
    //! Says why the thread ended before its time; empty if it did not.
    std::string error() const;

private:
    struct batch;
    void open();
    void close();
    void run(const taker& take);
    size_t receive(batch& b);

    const parameters d_p;
    boost::asio::io_context d_context;
    boost::asio::ip::udp::socket d_socket;
    int d_wake = -1; // an eventfd
    std::thread d_thread;
    std::atomic<bool> d_failed{ false };
    std::string d_error; // valid once d_failed
    std::atomic<uint64_t> d_dropped{ 0 };
    uint32_t d_drops_before = 0; // drops that the system counts for a socket
    int d_buffer_bytes = 0;
};

//! Binds a thread to one core. \throws std::runtime_error naming the core
void pin_thread(int core);
//! \throws std::invalid_argument if a core is not one of this process's
void check_core(const std::string& parameter, int core);

//! Returns ns since 1970 by the system's clock.
int64_t time_now();

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_UDP_RECEIVER_H */
