/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/device_buffer.h"
#include "runtime/fault.h"
#include "runtime/host_memory.h"
#include "runtime/host_wait.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace gr::aperture {

namespace {

// A mark in the number of items that readers want multiples of: GNU Radio passes that
// number from a buffer to the one that replaces it, and uses it nowhere else. Real ones
// are far below this.
constexpr uint64_t identity_mark = uint64_t(0xa9e7) << 48;

uint64_t next_identity()
{
    static std::atomic<uint64_t> last{ 0 };
    return identity_mark | ++last;
}

//! GNU Radio forgets what set_min_output_buffer() asked for at the second start.
size_t smallest_asked_for(const gr::block_sptr& writer, size_t item)
{
    long most = 0;
    const auto signature = writer->output_signature();
    for (int port = 0; port < std::max(1, signature->max_streams()); port++)
        if (size_t(signature->sizeof_stream_item(port)) == item)
            most = std::max(most, writer->min_output_buffer(port));
    return size_t(most);
}

//! Returns the input of its block that a reader is.
int port_of(const gr::buffer_reader* r)
{
    const auto detail = r->link()->detail();
    for (int port = 0; port < detail->ninputs(); port++)
        if (detail->input(port).get() == r)
            return port;
    throw std::logic_error(r->link()->identifier() +
                           " reads a buffer that is none of its inputs");
}

//! Returns the items that GNU Radio wants a buffer to hold for a reader.
size_t needed_by(const gr::block_sptr& reader)
{
    return size_t(
        2 * (reader->output_multiple() / reader->relative_rate() + reader->history()));
}

/*!
 * Returns the items of a buffer before GNU Radio rounded them to whole pages, which can
 * be 4096 items of a megabyte. Where it may have done so, this is what the blocks that
 * are known by now need, with room for others.
 */
size_t before_rounding(size_t rounded,
                       size_t item,
                       const gr::block_sptr& writer,
                       const gr::block_sptr& reader,
                       const std::vector<gr::buffer_sptr>& outputs)
{
    constexpr size_t room = 32 << 20; // in bytes
    if (rounded != host_granularity() / std::gcd(item, host_granularity()))
        return rounded;
    size_t needed = std::max(
        { room / item, size_t(2 * writer->output_multiple()), needed_by(reader) });
    for (const auto& output : outputs)
        for (size_t i = 0; i < output->nreaders(); i++)
            needed = std::max(needed, needed_by(output->reader(i)->link()));
    return std::min(rounded, needed);
}

} // namespace

gr::buffer_type device_buffer::type(gr::buftype<device_buffer, device_buffer>{});

gr::buffer_sptr device_buffer::make_buffer(int nitems,
                                           size_t sizeof_item,
                                           uint64_t downstream_lcm_nitems,
                                           uint32_t downstream_max_out_mult,
                                           gr::block_sptr link,
                                           gr::block_sptr owner)
{
    const bool replaces = link != owner;
    std::vector<gr::buffer_sptr> outputs;
    for (int port = 0; replaces && port < link->detail()->noutputs(); port++) {
        outputs.push_back(link->detail()->output(port));
        // GNU Radio asks once for each device reader of a host block
        auto* own = dynamic_cast<device_buffer*>(outputs.back().get());
        if (own && own->d_identity == downstream_lcm_nitems)
            return outputs.back();
    }
    auto* block = dynamic_cast<device_block*>(owner.get());
    if (!block)
        throw std::logic_error(owner->identifier() +
                               " has edges on a device but is no device_block");
    const size_t asked =
        replaces ? before_rounding(nitems, sizeof_item, link, owner, outputs) : nitems;
    const size_t wanted = std::max({ asked,
                                     size_t(4),
                                     smallest_asked_for(link, sizeof_item),
                                     block->minimum_ring() / sizeof_item });
    auto made = std::make_shared<device_buffer>(
        wanted, sizeof_item, downstream_max_out_mult, link, block->runs_on());
    made->d_replaced = std::move(outputs);
    // GNU Radio is about to limit the calls of a block for which nobody has done so to
    // the items that it asked for, of which the ring holds many times more.
    if (!replaces && !link->is_set_max_noutput_items())
        link->set_max_noutput_items(std::numeric_limits<int>::max());
    return made;
}

device_buffer::device_buffer(size_t nitems,
                             size_t sizeof_item,
                             uint32_t downstream_max_out_mult,
                             const gr::block_sptr& link,
                             const device& d)
    : gr::buffer(gr::buffer_mapping_type::double_mapped,
                 int(nitems),
                 sizeof_item,
                 next_identity(),
                 downstream_max_out_mult,
                 link),
      d_device(d),
      d_identity(d_downstream_lcm_nitems)
{
    const auto* writer = dynamic_cast<const device_block*>(link.get());
    d_host_writer = !writer || !writer->on_device();
    if (nitems > size_t(std::numeric_limits<int>::max()) || !allocate_buffer(int(nitems)))
        throw std::bad_alloc();
}

bool device_buffer::allocate_buffer(int nitems)
{
    const auto* writer = dynamic_cast<const device_block*>(link().get());
    const auto period = size_t(d_host_writer ? 0 : writer->period());
    const auto [items, twice] = ring_items(nitems,
                                           d_sizeof_item,
                                           d_device.own_memory()->granularity(),
                                           std::max<size_t>(1, period));
    d_repeats = period > 0 && items % period == 0;
    d_twice_mapped = twice;
    d_bufsize = unsigned(items);
    d_copies = d_device.make_stream();
    // a host writer does not ask for it in start()
    if (d_host_writer)
        allocate_mirror();
    return true;
}

void device_buffer::allocate_mirror()
{
    const size_t bytes = size_t(d_bufsize) * d_sizeof_item;
    const bool twice = bytes % host_granularity() == 0;
    memory m = twice ? map_host_memory_twice(bytes) : allocate_host_memory(2 * bytes);
    d_pin = d_device.own_memory()->pin(m.get(), 2 * bytes);
    d_mirror.emplace(
        std::move(m), bytes, twice ? ring::layout::twice_mapped : ring::layout::twin);
}

void device_buffer::allocate_device_memory()
{
    const auto* writer = dynamic_cast<const device_block*>(link().get());
    d_writes_windows = !d_host_writer && writer->writes_windows();
    d_ring.emplace(allocate_ring(*d_device.own_memory(),
                                 size_t(d_bufsize) * d_sizeof_item,
                                 layout_on(d_device, d_writes_windows)));
    // history begins with zeros
    if (!left_out("clear"))
        d_copies->clear(d_ring->at(0), d_ring->footprint());
    if (!left_out("start waits for the clear"))
        d_copies->synchronize();
}

ring::layout device_buffer::layout_on(const device& d, bool writes_windows) const
{
    if (d_twice_mapped)
        return ring::layout::twice_mapped;
    bool windows = writes_windows;
    for (const auto* r : d_readers) {
        const auto* reader = dynamic_cast<const device_block*>(r->link().get());
        windows = windows || (reader && reader->on_device() && reader->reads_windows() &&
                              reader->input_device(port_of(r)) == d);
    }
    return windows ? ring::layout::twin : ring::layout::single;
}

size_t device_buffer::find_place(const device& d)
{
    if (d == d_device)
        return 0;
    for (size_t i = 0; i < d_replicas.size(); i++)
        if (d_replicas[i].on() == d)
            return i + 1;
    d_replicas.emplace_back(d, size_t(d_bufsize) * d_sizeof_item, layout_on(d, false));
    if (!d_host_writer && !d_ring->share(*d_device.own_memory(), *d.own_memory()))
        d_replicas_by_mirror = true;
    return d_replicas.size();
}

void device_buffer::find_host_readers()
{
    d_host_readers = false;
    for (auto* r : d_readers)
        if (r->link()->input_signature()->stream_buffer_type(port_of(r)) != type)
            d_host_readers = true;
}

void device_buffer::choose_device()
{
    const device before = d_device;
    if (!d_host_writer) {
        const auto& writer = dynamic_cast<const device_block&>(*link());
        int port = 0;
        while (link()->detail()->output(port).get() != this)
            port++;
        d_device = writer.output_device(port);
    } else {
        for (const auto* r : d_readers) {
            const auto* reader = dynamic_cast<const device_block*>(r->link().get());
            if (reader && reader->on_device()) {
                d_device = reader->input_device(port_of(r));
                break;
            }
        }
    }
    if (d_device != before)
        d_copies = d_device.make_stream();
}

size_t device_buffer::attach(const device& d, const std::shared_ptr<stream>& writer)
{
    std::lock_guard<std::mutex> no_tap(d_tap_mutex);
    std::lock_guard<std::mutex> guard(d_state);
    if (d_attached == 0)
        choose_device();
    if (writer)
        d_writer = writer;
    if (d_attached == 0) {
        d_written.clear();
        d_copied_up.clear();
        d_copied_down.clear();
        d_read.clear();
        d_error.clear();
        d_filled = 0;
        d_end = 0;
        d_tapped.reset();
        d_tap_items = 0;
        d_kept_newest = {};
        d_kept_bytes.clear();
        d_replicas.clear();
        d_replicas_by_mirror = false;
        find_host_readers();
        allocate_device_memory();
    }
    const size_t place = find_place(d);
    d_mirrored = !d_host_writer && (d_host_readers || d_replicas_by_mirror);
    if (d_mirrored && !d_mirror)
        allocate_mirror();
    d_attached++;
    return place;
}

bool device_buffer::share(size_t place, const device& other)
{
    std::lock_guard<std::mutex> guard(d_state);
    if (place == 0)
        return d_device == other ||
               d_ring->share(*d_device.own_memory(), *other.own_memory());
    return d_replicas[place - 1].share(other);
}

std::string device_buffer::detach()
{
    std::lock_guard<std::mutex> no_tap(d_tap_mutex);
    std::lock_guard<std::mutex> guard(d_state);
    std::string met;
    if (--d_attached > 0)
        return met;
    try {
        if (!left_out("detach waits for copies"))
            d_copies->synchronize();
        for (auto& other : d_replicas)
            other.synchronize();
    } catch (const std::exception& e) {
        met = e.what();
        fail(e.what());
    }
    keep_newest();
    d_replicas.clear();
    d_ring.reset();
    return met;
}

int device_buffer::space_available()
{
    // one item stays free: with equal indices the ring is empty
    if (d_readers.empty())
        return d_bufsize - 1;
    int most_data = 0;
    uint64_t least_read = std::numeric_limits<uint64_t>::max();
    for (const auto* r : d_readers) {
        most_data = std::max(most_data, r->items_available());
        least_read = std::min(least_read, r->nitems_read());
    }
    if (least_read != d_last_min_items_read) {
        prune_tags(d_last_min_items_read);
        d_last_min_items_read = least_read;
    }
    return d_bufsize - most_data - 1;
}

unsigned device_buffer::index_add(unsigned a, unsigned b)
{
    const unsigned sum = a + b;
    return sum >= d_bufsize ? sum - d_bufsize : sum;
}

unsigned device_buffer::index_sub(unsigned a, unsigned b)
{
    // GNU Radio calls this for each new reader, after set_transfer_type(), which refuses
    // a reader of another kind than those before. Here all kinds may read.
    if (d_transfer_type != gr::transfer_type::DEFAULT_INVALID) {
        d_transfer_type = gr::transfer_type::DEFAULT_INVALID;
        adopt_readers();
    }
    return a >= b ? a - b : a + d_bufsize - b;
}

void device_buffer::adopt_readers()
{
    // Host readers that GNU Radio has connected before it replaced the buffer would wait
    // for a buffer that nobody writes.
    const auto replaced = std::exchange(d_replaced, {});
    const auto writer = link()->detail();
    for (size_t port = 0; port < replaced.size(); port++) {
        const gr::buffer_sptr own = writer->output(port), old = replaced[port];
        if (own.get() != this || old.get() == this)
            continue;
        while (old->nreaders() > 0) {
            gr::buffer_reader* r = old->reader(0);
            const int input = port_of(r);
            const auto block = r->link();
            block->detail()->set_input(
                input,
                gr::buffer_add_reader(
                    own, block->history() - 1, block, r->sample_delay()));
        }
    }
}

// only a thread between attach() and detach() asks
int device_buffer::contiguous_for_write(int items) const
{
    // Behind the end of twins nothing is begun that the next call continues: that call
    // writes to the beginning, and only whole items are copied from one to the other.
    const bool any = d_ring->type() == ring::layout::twice_mapped || d_writes_windows;
    return any ? items : std::min<int>(items, d_bufsize - d_write_index);
}

int device_buffer::contiguous_for_read(const gr::buffer_reader& r,
                                       size_t place,
                                       int items) const
{
    const auto layout = place == 0 ? d_ring->type() : d_replicas[place - 1].layout();
    return layout == ring::layout::single
               ? std::min<int>(items, d_bufsize - r.get_read_index())
               : items;
}

const void* device_buffer::pointer(const gr::buffer_reader& r, size_t place) const
{
    const size_t offset = r.get_read_index() * d_sizeof_item;
    return place == 0 ? d_ring->at(offset) : d_replicas[place - 1].at(offset);
}

device_buffer::span device_buffer::window(const gr::buffer_reader& r, int items)
{
    gr::thread::scoped_lock guard(*mutex());
    const int64_t first = int64_t(d_abs_write_offset) - r.items_available();
    return { first, first + items };
}

void device_buffer::wait_for_readers(stream& s, int64_t limit)
{
    for (const auto& log : d_read)
        s.wait(log.second.last_use_below(limit));
    if (d_tapped && d_tapped_from < limit && !left_out("write waits for taps"))
        s.wait(d_tapped);
}

bool device_buffer::holds_next() const
{
    std::lock_guard<std::mutex> guard(d_state);
    return d_repeats && d_filled >= int64_t(d_bufsize);
}

void device_buffer::keep()
{
    std::lock_guard<std::mutex> guard(d_state);
    if (!d_error.empty())
        throw std::runtime_error(d_error);
    d_kept = true;
}

void device_buffer::begin_write(stream& s, int items)
{
    std::lock_guard<std::mutex> guard(d_state);
    if (!d_error.empty())
        throw std::runtime_error(d_error);
    d_kept = false;
    // Copies to the host that read these items are done: a host reader has waited for
    // them before it consumed the items.
    const int64_t limit = int64_t(d_abs_write_offset) + items - d_bufsize;
    if (!left_out("write waits for readers"))
        wait_for_readers(s, limit);
    if (d_replicas_by_mirror) {
        // copies to other devices read the mirror
        if (!left_out("write waits for copies by way of the host"))
            s.wait(d_copied_down.last_use_below(limit));
    } else if (!left_out("write waits for copies to other devices")) {
        for (const auto& other : d_replicas)
            s.wait(other.last_use_below(limit));
    }
}

bool device_buffer::begin_read(stream& s,
                               const gr::buffer_reader& r,
                               size_t place,
                               int items)
{
    const span w = window(r, items);
    std::lock_guard<std::mutex> guard(d_state);
    if (!d_error.empty()) {
        if (d_host_writer)
            throw std::runtime_error(d_error);
        return false;
    }
    if (place > 0)
        d_replicas[place - 1].begin_read(s, w.end);
    else if (!left_out("read waits for the writer"))
        s.wait(d_written.completion_of(w.end));
    return true;
}

void device_buffer::end_read(const gr::buffer_reader& r,
                             size_t place,
                             int items,
                             const event_sptr& done)
{
    const span w = window(r, items);
    std::lock_guard<std::mutex> guard(d_state);
    if (place > 0)
        d_replicas[place - 1].end_read(r, w.first, w.end, done);
    else
        d_read[&r].add(w.first, w.end, done);
}

void device_buffer::post_work(int nitems)
{
    std::lock_guard<std::mutex> guard(d_state);
    d_end = int64_t(d_abs_write_offset) + nitems;
    d_end_index = index_add(d_write_index, unsigned(nitems));
    // Readers wait for the last work that wrote: to the mirror, one cycle of the ring
    // ago.
    if (d_kept)
        return;
    d_filled += nitems;
    const int64_t first = d_abs_write_offset;
    const size_t offset = d_write_index * d_sizeof_item, bytes = nitems * d_sizeof_item;
    try {
        if (d_host_writer) {
            if (!left_out("twin on the host"))
                for (const auto& t : d_mirror->twins(offset, bytes))
                    std::copy_n(d_mirror->at(t.from), t.bytes, d_mirror->at(t.to));
            if (d_ring) { // otherwise all device readers are done
                copy_to_device(first, nitems);
                copy_to_replicas(first, nitems);
            }
            return;
        }
        if (!left_out("twin on the device"))
            for (const auto& t : d_ring->twins(offset, bytes))
                d_writer->copy(d_ring->at(t.to),
                               d_ring->at(t.from),
                               t.bytes,
                               direction::within_device);
        d_written.add(first, first + nitems, d_writer->record());
        if (d_mirrored)
            copy_to_host(first, nitems);
        copy_to_replicas(first, nitems);
    } catch (const std::exception& e) {
        fail(e.what());
    }
}

void device_buffer::copy_to_device(int64_t first, int items)
{
    const size_t offset = d_write_index * d_sizeof_item;
    if (!left_out("copy to the device waits for readers"))
        wait_for_readers(*d_copies, first + items - d_bufsize);
    if (!left_out("copy to the device"))
        for (const auto& p : d_ring->pieces(offset, items * d_sizeof_item))
            d_copies->copy(d_ring->at(p.to),
                           d_mirror->at(offset + p.from),
                           p.bytes,
                           direction::host_to_device);
    const event_sptr done = d_copies->record();
    d_written.add(first, first + items, done);
    d_copied_up.add(first, first + items, done);
}

void device_buffer::copy_to_host(int64_t first, int items)
{
    const size_t offset = d_write_index * d_sizeof_item;
    if (!left_out("copy to the host waits for the writer"))
        d_copies->wait(d_written.last());
    if (d_replicas_by_mirror && !left_out("copy to the host waits for other devices"))
        for (const auto& other : d_replicas)
            d_copies->wait(other.last_use_below(first + items - d_bufsize));
    if (!left_out("copy to the host"))
        for (const auto& p : d_mirror->pieces(offset, items * d_sizeof_item))
            d_copies->copy(d_mirror->at(p.to),
                           d_ring->at(offset + p.from),
                           p.bytes,
                           direction::device_to_host);
    d_copied_down.add(first, first + items, d_copies->record());
}

void device_buffer::copy_to_replicas(int64_t first, int items)
{
    const size_t offset = d_write_index * d_sizeof_item;
    const bool mirror = d_host_writer || d_replicas_by_mirror;
    for (auto& other : d_replicas)
        other.take({ (mirror ? *d_mirror : *d_ring).at(offset),
                     mirror,
                     offset,
                     items * d_sizeof_item,
                     first,
                     first + items,
                     first + items - int64_t(d_bufsize),
                     d_host_writer          ? nullptr
                     : d_replicas_by_mirror ? d_copied_down.last()
                                            : d_written.last() });
}

void* device_buffer::write_pointer()
{
    std::unique_lock<std::mutex> lock(d_state);
    if (!d_host_writer)
        return d_ring ? d_ring->at(d_write_index * d_sizeof_item) : nullptr;
    // The writer may write as much as half the ring.
    const int64_t limit = int64_t(d_abs_write_offset) + d_bufsize / 2 - d_bufsize;
    std::vector<event_sptr> uses{ d_copied_up.last_use_below(limit) };
    for (const auto& other : d_replicas)
        uses.push_back(other.last_use_below(limit));
    char* const pointer = d_mirror->at(d_write_index * d_sizeof_item);
    lock.unlock();
    try {
        if (!left_out("host writer waits for copies"))
            for (const auto& last : uses)
                host_wait(last);
    } catch (const std::exception& e) {
        lock.lock();
        fail(e.what());
    }
    return pointer;
}

const void* device_buffer::_read_pointer(unsigned read_index)
{
    const size_t offset = read_index * d_sizeof_item;
    std::unique_lock<std::mutex> lock(d_state);
    if (device_block::is_thread_of_one())
        return d_ring ? d_ring->at(offset) : nullptr;
    if (!d_mirror) // nobody reads before start()
        return nullptr;
    const char* const pointer = d_mirror->at(offset);
    if (d_host_writer)
        return pointer;
    const event_sptr last = d_copied_down.last();
    lock.unlock();
    try {
        if (!left_out("host reader waits for its copy"))
            host_wait(last);
    } catch (const std::exception& e) {
        lock.lock();
        fail(e.what());
    }
    return pointer;
}

void device_buffer::fail(const char* what)
{
    if (d_error.empty())
        d_error = what;
}

std::string device_buffer::error() const
{
    std::lock_guard<std::mutex> guard(d_state);
    return d_error;
}

std::string device_buffer::error_for_readers() const
{
    return d_host_writer ? error() : std::string();
}

} // namespace gr::aperture
