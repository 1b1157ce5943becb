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
 * these will overwrite. A reader looks at that after its own copy: what was not about to
 * be overwritten by then is whole.
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

    //! The next item is the first one.
    void clear();
    //! Gives the copies of the next items to the stream.
    void write(stream& s, const void* from, int64_t count);

    //! Items that came.
    uint64_t items() const;
    //! The first item that is not overwritten, nor about to be.
    uint64_t oldest() const;
    //! See item_ring.
    item_ring::piece read(uint64_t first, int64_t count, int64_t offset, int64_t length);

private:
    void allocate(int64_t size);
    char* slot(uint64_t item) const
    {
        return d_memory.get() + item % uint64_t(d_capacity) * d_item_size;
    }
    //! Enqueues a copy within one turn of the ring: some bytes of each item.
    void
    copy_out(char* to, uint64_t first, int64_t count, int64_t offset, int64_t length);

    const device d_device;
    const size_t d_item_size;
    const int64_t d_capacity;     // items
    const int64_t d_longest_read; // bytes
    const bool d_on_device;       // the ring is
    memory d_memory, d_staging;
    std::shared_ptr<void> d_pin, d_staging_pin; // given up before the memory

    std::atomic<uint64_t> d_begun{ 0 }; // items that are there or being written
    std::atomic<uint64_t> d_runs{ 0 };  // how often it was cleared
    mutable std::mutex d_mutex;         // of the next two; held for moments only
    uint64_t d_there = 0;
    event_sptr d_written; // all items that are there are, behind it

    std::mutex d_reading; // of what follows
    std::unique_ptr<stream> d_stream;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_RING_MEMORY_H */
