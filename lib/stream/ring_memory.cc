/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/backend.h"
#include "runtime/host_memory.h"
#include "stream/free_memory.h"
#include "stream/ring_memory.h"
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace gr::aperture {

namespace {

// bytes of a read where items are smaller: copies of some MiB reach the rate of the bus
constexpr int64_t usual_read = 32 << 20;

} // namespace

ring_memory::ring_memory(const device& d, size_t item_size, int64_t size, bool on_host)
    : d_device(d),
      d_item_size(item_size),
      d_capacity(size / int64_t(item_size)),
      d_longest_read(std::max<int64_t>(
          item_size, std::min(usual_read, d_capacity * int64_t(item_size)))),
      d_on_device(d.own_memory() && !on_host)
{
    try {
        allocate(d_capacity * int64_t(item_size));
    } catch (const std::runtime_error& e) {
        throw std::invalid_argument("size: " + std::to_string(size) +
                                    " is not allowed: " + e.what());
    }
    if (d_on_device)
        d_stream = d.make_stream();
}

void ring_memory::allocate(int64_t size)
{
    const auto& backend = d_device.own_memory();
    d_staging = allocate_used_host_memory(d_longest_read);
    if (d_on_device)
        d_memory = backend->allocate(size);
    else
        d_memory = allocate_used_host_memory(size);
    if (backend) {
        d_staging_pin = backend->pin(d_staging.get(), d_longest_read);
        if (!d_on_device)
            d_pin = backend->pin(d_memory.get(), size);
    }
}

void ring_memory::clear()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_runs++;
    d_begun = 0;
    d_there = 0;
    d_written = nullptr;
}

void ring_memory::write(stream& s, const void* from, int64_t count)
{
    const uint64_t end = d_begun + count;
    // the newest items, where there are more than the ring holds
    const int64_t kept = std::min(count, d_capacity);
    d_begun = end;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const auto* bytes = static_cast<const char*>(from) + (count - kept) * d_item_size;
    const auto way = d_on_device             ? direction::within_device
                     : d_device.own_memory() ? direction::device_to_host
                                             : direction::within_device;
    for (uint64_t item = end - kept; item < end;) {
        const int64_t part =
            std::min<int64_t>(end - item, d_capacity - item % uint64_t(d_capacity));
        s.copy(slot(item), bytes, part * d_item_size, way);
        bytes += part * d_item_size;
        item += part;
    }
    auto written = s.record();
    std::lock_guard<std::mutex> guard(d_mutex);
    d_written = std::move(written);
    d_there = end;
}

uint64_t ring_memory::items() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_there;
}

uint64_t ring_memory::oldest() const
{
    const uint64_t begun = d_begun;
    // a call may bring more than the ring holds
    return std::min(begun - std::min(begun, uint64_t(d_capacity)), items());
}

void ring_memory::copy_out(
    char* to, uint64_t first, int64_t count, int64_t offset, int64_t length)
{
    const auto one = [&](const char* from, size_t bytes) {
        if (d_on_device)
            d_stream->copy(to, from, bytes, direction::device_to_host);
        else
            std::memcpy(to, from, bytes);
        to += bytes;
    };
    if (size_t(length) == d_item_size) {
        one(slot(first), count * d_item_size);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        one(slot(first) + i * d_item_size + offset, length);
}

item_ring::piece
ring_memory::read(uint64_t first, int64_t count, int64_t offset, int64_t length)
{
    const auto refuse = [](const char* name, int64_t value, const std::string& allowed) {
        throw std::invalid_argument(std::string(name) + ": " + std::to_string(value) +
                                    " is not allowed: " + allowed);
    };
    const int64_t size = d_item_size;
    if (offset < 0 || offset >= size)
        refuse(
            "offset", offset, "0 to below the " + std::to_string(size) + " of an item");
    if (length < 0 || length > size - offset)
        refuse("length", length, "0 to " + std::to_string(size - offset));
    if (length == 0)
        length = size - offset;
    if (count < 0 || count > d_longest_read / length)
        refuse("count",
               count,
               "0 to " + std::to_string(d_longest_read / length) + " items at a time");

    std::lock_guard<std::mutex> reading(d_reading);
    uint64_t there, run;
    event_sptr written;
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        there = d_there;
        written = d_written;
        run = d_runs;
    }
    if (first > there || uint64_t(count) > there - first)
        refuse("first", int64_t(first), "such that all items have come");
    const uint64_t end = first + count;
    const uint64_t from = std::clamp(oldest(), first, end);
    if (d_on_device)
        d_stream->wait(written);
    else if (written)
        written->synchronize();
    for (uint64_t item = from; item < end;) {
        const int64_t part =
            std::min<int64_t>(end - item, d_capacity - item % uint64_t(d_capacity));
        copy_out(d_staging.get() + (item - first) * length, item, part, offset, length);
        item += part;
    }
    if (d_on_device)
        d_stream->synchronize();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const uint64_t whole = d_runs == run ? std::clamp(oldest(), from, end) : end;
    return { d_staging.get(), count, int64_t(whole - first) };
}

} // namespace gr::aperture
