/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_PACKET_RECEIVER_H
#define INCLUDED_APERTURE_NETWORK_PACKET_RECEIVER_H

#include "network/receive_queue.h"
#include "system/linux.h"
#include <functional>
#include <memory>
#include <thread>

namespace gr::aperture::network {

//! The thread that reads a queue.
class packet_receiver
{
public:
    //! Takes datagrams; also called with none, when none have come for 50 ms.
    using taker = std::function<void(const datagram*, size_t)>;

    //! \param core CPU core that the thread runs on; -1: any that is near the card
    packet_receiver(std::unique_ptr<receive_queue> queue, int core);
    ~packet_receiver();

    //! Opens the queue and starts the thread. \throws std::runtime_error
    void start(taker take);
    //! Ends the thread and closes the queue.
    void stop();

    const receive_queue& queue() const { return *d_queue; }
    //! Says why the thread ended before its time; empty if it did not.
    std::string error() const;

private:
    void run(const taker& take);

    const std::unique_ptr<receive_queue> d_queue;
    const int d_core;
    system::wake_event d_wake;
    std::thread d_thread;
    std::atomic<bool> d_stopped{ false };
    std::atomic<bool> d_failed{ false };
    std::string d_error; // valid once d_failed
};

//! \throws std::invalid_argument if a core is not one of this process's
void check_core(const std::string& parameter, int core);

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_PACKET_RECEIVER_H */
