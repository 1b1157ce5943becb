/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_ITEM_RING_IMPL_H
#define INCLUDED_APERTURE_ITEM_RING_IMPL_H

#include "stream/item_history.h"
#include "stream/ring_memory.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/item_ring.h>
#include <condition_variable>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

namespace gr::aperture {

class item_ring_impl : public item_ring, public device_block
{
public:
    item_ring_impl(const parameters& p, const device& d);

    bool start() override;
    bool stop() override;

    int64_t capacity() const override { return d_memory.capacity(); }
    int64_t longest_read() const override { return d_memory.longest_read(); }
    uint64_t items() const override { return d_memory.items(); }
    uint64_t oldest() const override { return d_memory.oldest(); }
    piece read(uint64_t first, int64_t count, int64_t offset, int64_t length) override;
    void keep_from(uint64_t item) override;
    std::vector<setting> settings() const override;
    std::vector<std::pair<uint64_t, pmt::pmt_t>> told() const override;
    std::vector<missing_run> missing(uint64_t first, int64_t count) const override;
    std::vector<pmt::pmt_t> take_triggers() override;
    uint64_t starts() const override { return d_starts; }
    bool ended() const override { return d_ended; }
    bool has_senders() const override;
    bool awaits_triggers() const override;

private:
    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;

    void receive(const pmt::pmt_t& message);
    int room(int count);

    const bool d_hold;
    ring_memory d_memory;
    item_history d_history;
    std::atomic<uint64_t> d_starts{ 0 };
    std::atomic<bool> d_ended{ true };

    mutable std::mutex d_mutex; // guards the members below
    std::deque<pmt::pmt_t> d_triggers;
    std::vector<std::weak_ptr<gr::block>> d_senders;

    std::mutex d_keeping; // guards the members below
    std::condition_variable d_let_go;
    uint64_t d_kept = 0; // the first item that must not be overwritten
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_ITEM_RING_IMPL_H */
