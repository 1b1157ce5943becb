/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/dpdk/dpdk_queue.h"
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <chrono>
#include <thread>

namespace gr::aperture::network {

namespace {

// sleeps where nothing has come, and where nothing comes for longer: rings have room for
// more
constexpr std::chrono::microseconds short_sleep{ 100 }, long_sleep{ 1000 };
constexpr unsigned idle_from = 100; // short sleeps before long ones

} // namespace

dpdk_queue::dpdk_queue(std::shared_ptr<dpdk_device> device,
                       int queue,
                       std::shared_ptr<const address_table> addresses)
    : d_device(std::move(device)),
      d_queue(uint16_t(queue)),
      d_addresses(std::move(addresses))
{
}

void dpdk_queue::open()
{
    close();
    d_dropped = 0;
    d_idle = 0;
    d_device->start();
    d_open = true;
    d_buffer_bytes = d_device->buffer_bytes();
}

void dpdk_queue::close()
{
    if (!d_open)
        return;
    release();
    count_dropped();
    d_open = false;
    d_device->stop();
}

size_t dpdk_queue::receive(datagram* found, size_t most)
{
    d_count = rte_eth_rx_burst(d_device->port(),
                               d_queue,
                               d_taken.data(),
                               uint16_t(std::min(most, d_taken.size())));
    if (d_count == 0)
        return 0;
    d_idle = 0;
    size_t pieces = 0;
    for (unsigned i = 0; i < d_count; i++)
        pieces += d_taken[i]->nb_segs;
    d_pieces.clear();
    d_pieces.reserve(pieces); // none of them may move
    const int64_t now = time_now();
    size_t count = 0;
    for (unsigned i = 0; i < d_count; i++) {
        const rte_mbuf* const m = d_taken[i];
        byte_view frame{ rte_pktmbuf_mtod(m, const uint8_t*),
                         m->pkt_len,
                         m->data_len,
                         d_pieces.data() + d_pieces.size() };
        for (const rte_mbuf* next = m->next; next; next = next->next)
            d_pieces.push_back(
                { rte_pktmbuf_mtod(next, const uint8_t*), next->data_len });
        const bool known =
            (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD;
        if (const auto made = datagram_of(frame, *d_addresses, now, known))
            found[count++] = *made;
    }
    return count;
}

void dpdk_queue::release()
{
    rte_pktmbuf_free_bulk(d_taken.data(), d_count);
    d_count = 0;
}

void dpdk_queue::wait(int, int)
{
    if (d_idle++ < idle_from) {
        std::this_thread::sleep_for(short_sleep);
    } else {
        count_dropped();
        std::this_thread::sleep_for(long_sleep);
    }
}

void dpdk_queue::count_dropped()
{
    rte_eth_stats stats{};
    // the card counts for all of its queues
    if (d_queue == 0 && rte_eth_stats_get(d_device->port(), &stats) == 0)
        d_dropped = stats.imissed + stats.rx_nombuf;
}

} // namespace gr::aperture::network
