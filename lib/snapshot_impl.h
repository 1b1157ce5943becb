/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SNAPSHOT_IMPL_H
#define INCLUDED_APERTURE_SNAPSHOT_IMPL_H

#include "stream/timestamp.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/snapshot.h>
#include <gnuradio/tags.h>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>

namespace gr::aperture {

class snapshot_impl : public snapshot, public device_block
{
public:
    snapshot_impl(const parameters& p, const device& d);

    bool start() override;
    bool stop() override;

    std::optional<item> read() override;
    std::vector<item> read_after(uint64_t serial) override;
    uint64_t items() const override { return d_items; }
    uint64_t taken() const override { return d_taken; }

private:
    //! Memory on the host for an item, and what is known of it.
    struct slot {
        memory bytes;
        std::shared_ptr<void> pin; // given up before the memory
        item about;                // but for its data
        event_sptr copied;
        int readers = 0; // threads that copy it just now
    };

    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;

    //! Items whose copies may be unfinished: those of a call, and one more.
    size_t most_under_way() const { return d_depth + 1; }
    //! How many items may be taken now, of those that have come.
    int due(int items);
    //! Follows the tags of items up to one, and notes what they say of it.
    void follow(const std::vector<gr::tag_t>& tags, size_t& next, uint64_t number);
    void follow(const gr::tag_t& tag);
    std::optional<timestamp> time_of(uint64_t number) const;
    //! Enqueues the copy of an item, of which follow() has noted what the tags say.
    //! \param last of the stream, for which there is a slot in any case
    void take(const void* from, uint64_t number, bool last);
    //! The last item of a stream that has ended: nobody writes to its buffer any more.
    void take_last();
    slot* free_slot(bool last);
    void add_slot();
    //! Copies of some that have arrived, oldest first.
    std::vector<item> copies(const std::vector<slot*>& chosen);
    //! With the mutex held: those that have arrived, oldest first.
    std::vector<slot*> arrived() const;

    const size_t d_item_size;
    const double d_rate;
    const size_t d_depth;

    std::atomic<uint64_t> d_items{ 0 }, d_taken{ 0 };
    std::atomic<bool> d_asked{ true };
    double d_credit = 0; // items that may be taken
    std::chrono::steady_clock::time_point d_credited;
    std::optional<uint64_t> d_newest; // number of what was taken last

    // what the tags say, up to the item that was looked at last
    std::optional<double> d_rx_rate, d_frequency;
    std::optional<std::pair<uint64_t, timestamp>> d_clock; // an item and its time
    std::map<std::string, pmt::pmt_t> d_standing;          // until the next of its key
    std::map<std::string, pmt::pmt_t> d_own;               // of item d_own_number
    uint64_t d_own_number = 0;

    std::mutex d_mutex; // of what follows; held for moments only
    std::deque<slot> d_slots;
    std::deque<slot*> d_kept; // oldest first; the last ones may still be copied
    uint64_t d_serial = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_SNAPSHOT_IMPL_H */
