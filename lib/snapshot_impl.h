/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SNAPSHOT_IMPL_H
#define INCLUDED_APERTURE_SNAPSHOT_IMPL_H

#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/snapshot.h>
#include <gnuradio/aperture/stream_states.h>
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
    //! Memory on the host for an item, and the facts about it.
    struct slot {
        memory bytes;
        std::shared_ptr<void> pin; // released before the memory
        item about;                // without its data
        event_sptr copied;
        int readers = 0; // threads that are copying it
    };

    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;

    //! Returns how many items may have unfinished copies: those of a call, and one more.
    size_t most_under_way() const { return d_depth + 1; }
    //! Returns how many of the new items may be taken.
    int due(int items);
    //! Goes on to a run.
    void enter(const stream_states::run& run);
    //! Enqueues the copy of an item of d_run.
    //! \param last whether it is the last of the stream, for which there is a slot in any
    //! case
    void take(const void* from, uint64_t number, bool last);
    //! Takes the last item of a stream that has ended: the buffer is not written now.
    void take_last();
    slot* free_slot(bool last);
    void add_slot();
    //! Returns copies of chosen items, oldest first.
    std::vector<item> copies(const std::vector<slot*>& chosen);
    //! Returns the items that have arrived, oldest first. The caller holds the mutex.
    std::vector<slot*> arrived() const;

    const size_t d_item_size;
    const double d_rate;
    const size_t d_depth;

    std::atomic<uint64_t> d_items{ 0 }, d_taken{ 0 };
    std::atomic<bool> d_asked{ true };
    double d_credit = 0; // items that may be taken
    std::chrono::steady_clock::time_point d_credited;
    std::optional<uint64_t> d_newest; // index of the item that was taken last

    stream_states d_states;
    stream_states::run d_run; // with the newest item that was examined
    std::optional<double> d_frequency;

    std::mutex d_mutex; // guards the members below; held for moments only
    std::deque<slot> d_slots;
    std::deque<slot*> d_kept; // oldest first; the last ones may still be copied
    uint64_t d_serial = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_SNAPSHOT_IMPL_H */
