/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/types.h"
#include "runtime/backend.h"
#include "runtime/host_memory.h"
#include "snapshot_impl.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace gr::aperture {

namespace {

constexpr double highest_rate = 1e6;

} // namespace

snapshot::sptr snapshot::make(const parameters& p)
{
    check_parameters<snapshot>(p);
    if (!(p.rate >= 0 && p.rate <= highest_rate)) // refuses NaN, too
        throw std::invalid_argument("rate: " + text_of(p.rate) +
                                    " is not allowed: it must be from 0 to 1e6 items a "
                                    "second");
    return gnuradio::make_block_sptr<snapshot_impl>(p, device::select(p.device));
}

snapshot_impl::snapshot_impl(const parameters& p, const device& d)
    : gr::block(
          "snapshot", signature_on(d, 1, p.item_size), signature_on(d, 0, p.item_size)),
      device_block(d),
      d_item_size(size_t(p.item_size)),
      d_rate(p.rate),
      d_depth(size_t(p.depth))
{
    // a longer wait would keep room from the writer
    set_latency(0);
    // items that are kept, items whose copies are under way, and one that is being read
    for (size_t i = 0; i < d_depth + most_under_way() + 1; i++)
        add_slot();
}

void snapshot_impl::add_slot()
{
    slot s;
    s.bytes = allocate_host_memory(d_item_size);
    if (on_device())
        s.pin = runs_on().own_memory()->pin(s.bytes.get(), d_item_size);
    d_slots.push_back(std::move(s));
}

bool snapshot_impl::start()
{
    d_items = d_taken = 0;
    d_credit = 1;
    d_credited = std::chrono::steady_clock::now();
    d_newest.reset();
    d_run = {};
    d_frequency.reset();
    return device_block::start();
}

bool snapshot_impl::stop()
{
    if (!failed()) {
        try {
            take_last();
        } catch (const std::exception& e) {
            fail(e.what());
        }
    }
    return device_block::stop();
}

int snapshot_impl::process(int,
                           gr_vector_int& ninput_items,
                           gr_vector_const_void_star& input_items,
                           gr_vector_void_star&)
{
    const int count = ninput_items[0];
    if (count == 0)
        return 0;
    const uint64_t begin = nitems_read(0);
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, count);
    const auto runs = d_states.take(std::move(tags), begin, begin + count);
    int i = count - due(count);
    for (const auto& run : runs) {
        enter(run);
        for (; i < count && begin + i < run.end; i++)
            take(static_cast<const char*>(input_items[0]) + i * d_item_size,
                 begin + i,
                 false);
    }
    d_items += count;
    consume_each(count);
    return 0;
}

void snapshot_impl::enter(const stream_states::run& run)
{
    d_run = run;
    const auto tag = run.states.find(tags::rx_freq);
    if (const auto hertz =
            tag == run.states.end() ? std::nullopt : number_of(tag->second))
        d_frequency = hertz;
}

int snapshot_impl::due(int items)
{
    if (d_rate == 0)
        return items > 0 && d_asked ? 1 : 0;
    const auto now = std::chrono::steady_clock::now();
    d_credit += d_rate * std::chrono::duration<double>(now - d_credited).count();
    d_credit = std::min(d_credit, double(d_depth));
    d_credited = now;
    return std::min(items, int(d_credit));
}

std::vector<snapshot_impl::slot*> snapshot_impl::arrived() const
{
    std::vector<slot*> found;
    for (slot* s : d_kept) {
        if (s->copied && !s->copied->done())
            break;
        found.push_back(s);
    }
    return found;
}

snapshot_impl::slot* snapshot_impl::free_slot(bool last)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    const size_t there = arrived().size();
    if (!last && d_kept.size() - there >= most_under_way())
        return nullptr;
    for (size_t i = d_depth; i < there; i++)
        d_kept.pop_front();
    for (slot& s : d_slots)
        if (s.readers == 0 && std::find(d_kept.begin(), d_kept.end(), &s) == d_kept.end())
            return &s;
    if (!last) // all are being read
        return nullptr;
    add_slot();
    return &d_slots.back();
}

void snapshot_impl::take(const void* from, uint64_t number, bool last)
{
    slot* const s = free_slot(last);
    if (!s)
        return;
    work_stream().copy(s->bytes.get(), from, d_item_size, direction::device_to_host);
    s->copied = work_stream().record();
    s->about.number = number;
    s->about.time = d_run.time(number);
    s->about.tags = d_run.at(number);
    s->about.rate = d_run.rate > 0 ? std::optional<double>(d_run.rate) : std::nullopt;
    s->about.frequency = d_frequency;
    d_newest = number;
    d_taken++;
    d_credit -= 1;
    d_asked = false;
    std::lock_guard<std::mutex> guard(d_mutex);
    s->about.serial = ++d_serial;
    d_kept.push_back(s);
}

void snapshot_impl::take_last()
{
    const uint64_t came = d_items;
    if (came == 0 || d_newest == came - 1)
        return;
    // The end of this block, for whatever reason, marks the buffer as done. Only where
    // its writer has ended, and all was read, the last item is still there, just before
    // the one that would be read next.
    const auto reader = detail()->input(0);
    const auto buffer = reader->buffer();
    unsigned index;
    {
        gr::thread::scoped_lock guard(*buffer->mutex());
        if (!buffer->done() || reader->items_available() != 0)
            return;
        index = (reader->get_read_index() + buffer->bufsize() - 1) % buffer->bufsize();
    }
    if (buffer->link()->detail()->done())
        take(buffer->_read_pointer(index), came - 1, true);
}

std::vector<snapshot::item> snapshot_impl::copies(const std::vector<slot*>& chosen)
{
    std::vector<item> made;
    for (const slot* s : chosen) {
        made.push_back(s->about);
        made.back().data.assign(s->bytes.get(), s->bytes.get() + d_item_size);
    }
    std::lock_guard<std::mutex> guard(d_mutex);
    for (slot* s : chosen)
        s->readers--;
    return made;
}

std::vector<snapshot::item> snapshot_impl::read_after(uint64_t serial)
{
    d_asked = true;
    std::vector<slot*> chosen;
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        const auto there = arrived();
        const size_t first = there.size() - std::min(there.size(), d_depth);
        for (size_t i = first; i < there.size(); i++)
            if (there[i]->about.serial > serial)
                chosen.push_back(there[i]);
        for (slot* s : chosen)
            s->readers++;
    }
    return copies(chosen);
}

std::optional<snapshot::item> snapshot_impl::read()
{
    d_asked = true;
    std::vector<slot*> newest;
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        newest = arrived();
        newest.erase(newest.begin(), newest.empty() ? newest.end() : newest.end() - 1);
        for (slot* s : newest)
            s->readers++;
    }
    auto made = copies(newest);
    if (made.empty())
        return {};
    return std::move(made.front());
}

} // namespace gr::aperture
