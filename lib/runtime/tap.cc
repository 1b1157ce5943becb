/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/device_buffer.h"
#include "runtime/tap.h"
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_double_mapped.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace gr::aperture {

namespace {

//! Time, and least number of tries, for a copy that the writer overtakes: a thread may be
//! stopped for longer in the midst of one.
constexpr std::chrono::milliseconds patience{ 2000 };
constexpr int fewest_tries = 10;

gr::block_sptr block_of(const gr::basic_block_sptr& b)
{
    auto block = std::dynamic_pointer_cast<gr::block>(b);
    if (!block)
        throw std::invalid_argument(
            "block: " + b->alias() +
            " is not allowed, as it has no edges of its own: name the block within it "
            "whose output is wanted");
    return block;
}

} // namespace

tap::tap(const gr::basic_block_sptr& b, int port)
    : d_block(block_of(b)), d_detail(d_block->detail())
{
    const auto name = d_block->alias();
    // below 0: any number of ports
    const int ports =
        d_detail ? d_detail->noutputs() : d_block->output_signature()->max_streams();
    if (ports == 0)
        throw std::invalid_argument("block: " + name +
                                    " is not allowed, as it has no output: an edge "
                                    "belongs to the block that writes it");
    if (port < 0 || (d_detail && port >= ports))
        throw std::invalid_argument("port: " + std::to_string(port) +
                                    " is not allowed: the outputs of " + name +
                                    " are 0 to " + std::to_string(ports - 1));
    if (d_detail)
        d_buffer = d_detail->output(port);
    if (!d_buffer)
        throw std::runtime_error(name + " has no items yet: its flowgraph has not been "
                                        "started");
    if (!dynamic_cast<device_buffer*>(d_buffer.get()) &&
        !dynamic_cast<gr::buffer_double_mapped*>(d_buffer.get()))
        throw std::invalid_argument(
            "block: " + name +
            " is not allowed, as its items are in a buffer that is neither GNU Radio's "
            "nor ours");
}

int tap::most() const
{
    // A call is never given room for more than half of a buffer. Whatever a block does
    // with its room, the other half stays.
    return int(d_buffer->bufsize() - d_buffer->bufsize() / 2);
}

uint64_t tap::written() const
{
    gr::thread::scoped_lock guard(*d_buffer->mutex());
    return d_buffer->nitems_written();
}

bool tap::done() const { return d_detail->done(); }

std::string tap::device_name() const
{
    const auto* own = dynamic_cast<device_buffer*>(d_buffer.get());
    return own && !own->written_by_host() ? own->device_name() : "cpu";
}

newest_items tap::copy(int items, void* to, bool on_device)
{
    if (items < 1 || items > most())
        throw std::invalid_argument(
            "items: " + std::to_string(items) + " is not allowed: it must be from 1 to " +
            std::to_string(most()) + ", half of the buffer of " + d_block->alias());
    auto* own = dynamic_cast<device_buffer*>(d_buffer.get());
    if (own && !own->written_by_host())
        return own->newest(items, to, on_device);
    if (on_device)
        throw std::logic_error("the edge is in host memory");
    return copy_from_host(items, static_cast<char*>(to));
}

newest_items tap::copy_from_host(int items, char* to)
{
    const auto* own = dynamic_cast<const device_buffer*>(d_buffer.get());
    const size_t size = item_size(), bufsize = d_buffer->bufsize();
    const auto give_up = std::chrono::steady_clock::now() + patience;
    for (int tries = 1;; tries++) {
        int64_t end;
        size_t index;
        {
            gr::thread::scoped_lock guard(*d_buffer->mutex());
            end = int64_t(d_buffer->nitems_written());
            index = own ? own->write_index()
                        : (static_cast<const char*>(d_buffer->write_pointer()) -
                           d_buffer->base()) /
                              size;
        }
        int n = int(std::min<int64_t>(items, end));
        if (n == 0)
            return {};
        int64_t first = end - n;
        const size_t slot = (index + bufsize - n) % bufsize;
        const char* const base = own ? own->host_memory() : d_buffer->base();
        std::memcpy(to, base + slot * size, n * size);
        // orders the reads of the copy before later ones
        std::atomic_thread_fence(std::memory_order_acquire);
        const int64_t now = int64_t(written());
        const int64_t intact = now - most();
        if (now >= end && first >= intact)
            return { uint64_t(first), n };
        if (tries < fewest_tries || std::chrono::steady_clock::now() < give_up) {
            std::this_thread::yield();
            continue;
        }
        if (now < end || intact >= end)
            throw std::runtime_error(
                d_block->alias() + " puts out items faster than " + std::to_string(n) +
                " of them are copied: ask for fewer, or give the block a larger buffer "
                "(set_min_output_buffer)");
        n = int(end - intact);
        std::memmove(to, to + (intact - first) * size, n * size);
        return { uint64_t(intact), n };
    }
}

std::vector<gr::tag_t> tap::tags(const newest_items& of) const
{
    std::vector<gr::tag_t> found;
    gr::thread::scoped_lock guard(*d_buffer->mutex());
    const auto end = d_buffer->get_tags_lower_bound(of.first + of.items);
    for (auto t = d_buffer->get_tags_lower_bound(of.first); t != end; ++t)
        found.push_back(t->second);
    return found;
}

} // namespace gr::aperture
