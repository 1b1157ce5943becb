/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_RING_MEMORY_H
#define INCLUDED_APERTURE_STREAM_RING_MEMORY_H

#include <gnuradio/aperture/device/device.h>
#include <gnuradio/aperture/item_ring.h>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace gr::aperture {

/*!
 * A ring of items in the memory of a device or of the host. One thread writes and never
 * waits; others read, one at a time, by way of host memory.
 *
 * Before the writer gives the copies of new items to its stream, it says which items
 * these will overwrite. A reader checks that after its own copy: items that were not
 * about to be overwritten by then are whole.
 */
class ring_memory
{
public:
    /*!
     * \param size bytes
     * \throws std::invalid_argument naming `size`, what was asked for and what there is
     */
    ring_memory(const device& d, size_t item_size, int64_t size, bool on_host);

    int64_t capacity() const { return d_capacity; }
    int64_t longest_read() const { return d_longest_read; }

    //! Makes the next item the first one.
    void clear();
    //! Gives the copies of the next items to the stream.
    void write(stream& s, const void* from, int64_t count);

    //! Returns the items that came.
    uint64_t items() const;
    //! Returns the first item that is not overwritten, nor about to be.
    uint64_t oldest() const;
    //! See item_ring.
    item_ring::piece read(uint64_t first, int64_t count, int64_t offset, int64_t length);

private:
    void allocate(int64_t size);
    char* slot(uint64_t item) const
    {
        return d_memory.get() + item % uint64_t(d_capacity) * d_item_size;
    }
    //! Enqueues a copy of some bytes of each item, from a stretch that does not wrap
    //! around the end of the ring.
    void
    copy_out(char* to, uint64_t first, int64_t count, int64_t offset, int64_t length);

    const device d_device;
    const size_t d_item_size;
    const int64_t d_capacity;     // capacity in items
    const int64_t d_longest_read; // bytes
    const bool d_on_device;       // the ring is on the device
    memory d_memory, d_staging;
    std::shared_ptr<void> d_pin, d_staging_pin; // released before the memory

    std::atomic<uint64_t> d_begun{ 0 }; // items that are there or being written
    std::atomic<uint64_t> d_runs{ 0 };  // number of times that it was cleared
    mutable std::mutex d_mutex;         // guards the next two; held for moments only
    uint64_t d_there = 0;
    event_sptr d_written; // event after which all items are there

    std::mutex d_reading; // guards the members below
    std::unique_ptr<stream> d_stream;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_RING_MEMORY_H */
