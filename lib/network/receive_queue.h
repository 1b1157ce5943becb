/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_RECEIVE_QUEUE_H
#define INCLUDED_APERTURE_NETWORK_RECEIVE_QUEUE_H

#include "network/datagram.h"
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace gr::aperture::network {

/*!
 * A queue that datagrams come to: a socket, or a queue of a card. One thread reads it
 * (see packet_receiver), and what orders packets does not know which kind it is.
 */
class receive_queue
{
public:
    virtual ~receive_queue() = default;

    //! Makes datagrams come. \throws std::runtime_error naming what cannot be opened
    virtual void open() = 0;
    //! Lets no more datagrams come. Does nothing if it is not open.
    virtual void close() = 0;
    //! Returns how many datagrams have come, at most `most`, and describes them in
    //! `found`. Their bytes are valid until release(). \throws std::runtime_error
    virtual size_t receive(datagram* found, size_t most) = 0;
    //! Gives the buffers of the datagrams back that the last receive() found.
    virtual void release() = 0;
    //! Waits until datagrams have come, the file descriptor `wake` can be read, or
    //! `most_ms` have passed.
    virtual void wait(int wake, int most_ms) = 0;

    //! Returns the datagrams that were dropped, as buffers were full.
    uint64_t dropped() const { return d_dropped; }
    //! Returns the bytes of the buffers that datagrams wait in.
    int64_t buffer_bytes() const { return d_buffer_bytes; }
    //! Returns the cores that are near the card; none: all are alike.
    virtual std::vector<int> near_cores() const { return {}; }

protected:
    std::atomic<uint64_t> d_dropped{ 0 };
    std::atomic<int64_t> d_buffer_bytes{ 0 };
};

//! Datagrams that one call of receive() may find.
constexpr size_t datagrams_at_once = 64;

//! Returns ns since 1970 by the system's clock.
inline int64_t time_now()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_RECEIVE_QUEUE_H */
