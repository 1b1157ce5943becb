/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_DPDK_DPDK_QUEUE_H
#define INCLUDED_APERTURE_NETWORK_DPDK_DPDK_QUEUE_H

#include "network/dpdk/dpdk_device.h"
#include "network/udp_frame.h"
#include <array>

struct rte_mbuf;

namespace gr::aperture::network {

//! A queue of a card that DPDK reads. It is asked again and again, as there are no
//! interrupts, with sleeps in between where nothing comes.
class dpdk_queue : public receive_queue
{
public:
    dpdk_queue(std::shared_ptr<dpdk_device> device,
               int queue,
               std::shared_ptr<const address_table> addresses);
    ~dpdk_queue() override { close(); }

    void open() override;
    void close() override;
    size_t receive(datagram* found, size_t most) override;
    void release() override;
    void wait(int wake, int most_ms) override;
    std::vector<int> near_cores() const override { return d_device->near_cores(); }

private:
    void count_dropped();

    const std::shared_ptr<dpdk_device> d_device;
    const uint16_t d_queue;
    const std::shared_ptr<const address_table> d_addresses;
    bool d_open = false;
    std::array<rte_mbuf*, datagrams_at_once> d_taken;
    unsigned d_count = 0; // buffers in d_taken
    std::vector<byte_view::piece> d_pieces;
    unsigned d_idle = 0; // waits since packets came
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_DPDK_DPDK_QUEUE_H */
