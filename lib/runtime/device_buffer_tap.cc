/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/backend.h"
#include "runtime/device_buffer.h"
#include "runtime/fault.h"
#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gr::aperture {

std::string device_buffer::device_name() const
{
    std::lock_guard<std::mutex> guard(d_state);
    return d_device.name();
}

newest_items device_buffer::take_newest(int items, char* to, direction d)
{
    // no call is given room where these items are: see tap::most()
    const int64_t first = std::max<int64_t>(0, d_end - items);
    const size_t n = size_t(d_end - first);
    if (!left_out("tap waits for the writer"))
        d_taps->wait(d_written.completion_of(d_end));
    const size_t index = (d_end_index + d_bufsize - n) % d_bufsize;
    const size_t whole = n * d_sizeof_item, offset = index * d_sizeof_item;
    const size_t before = std::min(whole, d_ring->size() - offset);
    d_taps->copy(to, d_ring->at(offset), before, d);
    if (before < whole)
        d_taps->copy(to + before, d_ring->at(0), whole - before, d);
    d_tapped_from =
        d_tapped && !d_tapped->done() ? std::min(d_tapped_from, first) : first;
    d_tapped = d_taps->record();
    return { uint64_t(first), int(n) };
}

newest_items device_buffer::newest(int items, void* to, bool on_device)
{
    std::lock_guard<std::mutex> one_at_a_time(d_tap_mutex);
    try {
        return look(items, to, on_device);
    } catch (...) {
        // waits for copies in flight, as their memory is freed
        std::lock_guard<std::mutex> guard(d_state);
        end_taps();
        throw;
    }
}

void device_buffer::end_taps()
{
    d_tapped.reset();
    d_taps.reset();
    d_tap_memory.reset();
    d_tap_bytes = 0;
}

newest_items device_buffer::look(int items, void* to, bool on_device)
{
    const size_t bytes = size_t(items) * d_sizeof_item;
    if (d_attached > 0 && !d_taps)
        d_taps = d_device.make_stream();
    // The copy within the device is fast, so that the ring is free soon; the way to the
    // host may take its time.
    if (d_attached > 0 && !on_device && d_tap_bytes < bytes) {
        d_tap_memory.reset();
        d_tap_bytes = 0;
        d_tap_memory = d_device.own_memory()->allocate(bytes);
        d_tap_bytes = bytes;
    }
    newest_items taken;
    {
        std::lock_guard<std::mutex> guard(d_state);
        if (!d_error.empty())
            throw std::runtime_error(d_error);
        if (!d_ring && d_kept_newest.items == 0)
            throw std::runtime_error(
                link()->alias() +
                " is not running, and its items on the device went with its end: look "
                "at it while it runs");
        if (d_ring) {
            d_tap_items = std::max(d_tap_items, items);
            if (d_end == 0)
                return {};
            taken = take_newest(items,
                                on_device ? static_cast<char*>(to) : d_tap_memory.get(),
                                direction::within_device);
        }
    }
    if (taken.items == 0) { // the edge does not exist any more
        if (on_device)
            throw std::runtime_error(
                link()->alias() +
                " has ended, and its last items are in host memory: take them there");
        taken.items = std::min(items, d_kept_newest.items);
        const int skipped = d_kept_newest.items - taken.items;
        taken.first = d_kept_newest.first + skipped;
        std::memcpy(to,
                    d_kept_bytes.data() + skipped * d_sizeof_item,
                    taken.items * d_sizeof_item);
        return taken;
    }
    if (!on_device)
        d_taps->copy(to,
                     d_tap_memory.get(),
                     taken.items * d_sizeof_item,
                     direction::device_to_host);
    d_taps->synchronize();
    return taken;
}

void device_buffer::keep_newest()
{
    try {
        if (d_ring && d_tap_items > 0 && d_end > 0 && d_error.empty()) {
            d_kept_bytes.resize(d_tap_items * d_sizeof_item);
            d_kept_newest =
                take_newest(d_tap_items, d_kept_bytes.data(), direction::device_to_host);
            d_taps->synchronize();
        }
    } catch (const std::exception&) {
        d_kept_newest = {}; // the device has failed, which blocks report
    }
    end_taps();
}

} // namespace gr::aperture
