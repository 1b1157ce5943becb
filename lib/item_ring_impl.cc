/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/message_senders.h"
#include "item_ring_impl.h"
#include "kernels/common/types.h"
#include <gnuradio/block_detail.h>
#include <algorithm>
#include <chrono>
#include <limits>

namespace gr::aperture {

namespace {

const pmt::pmt_t trigger_port = pmt::mp("trigger");
// messages that are kept until they are taken; older ones are dropped
constexpr size_t most_triggers = 1024;
// longest wait of a call for room; messages wait as long
constexpr auto longest_hold = std::chrono::milliseconds(5);

} // namespace

item_ring::sptr item_ring::make(const parameters& p)
{
    check_parameters<item_ring>(p);
    require(
        p.memory == "device" || p.memory == "host", "memory", p.memory, "device or host");
    require(p.size >= 2 * int64_t(p.item_size),
            "size",
            std::to_string(p.size),
            "at least two items of " + std::to_string(p.item_size) + " bytes");
    return gnuradio::make_block_sptr<item_ring_impl>(p, device::select(p.device));
}

item_ring_impl::item_ring_impl(const parameters& p, const device& d)
    : gr::block(
          "item_ring", signature_on(d, 1, p.item_size), signature_on(d, 0, p.item_size)),
      device_block(d),
      d_hold(p.hold),
      d_memory(d, p.item_size, p.size, p.memory == "host"),
      d_history(p.spectra)
{
    // a longer wait would keep room from the writer
    set_latency(0);
    message_port_register_in(trigger_port);
    set_msg_handler(trigger_port, [this](const pmt::pmt_t& m) { receive(m); });
    // GNU Radio ends a block when one that sends messages to it has ended
    set_msg_handler(pmt::mp("system"), [](const pmt::pmt_t&) {});
}

bool item_ring_impl::start()
{
    d_memory.clear();
    d_history.clear();
    {
        const auto senders = message_senders(*this, trigger_port);
        std::lock_guard<std::mutex> guard(d_mutex);
        d_senders = { senders.begin(), senders.end() };
        d_triggers.clear();
    }
    {
        std::lock_guard<std::mutex> guard(d_keeping);
        d_kept = 0;
    }
    d_ended = false;
    d_starts++;
    return device_block::start();
}

bool item_ring_impl::stop()
{
    const bool done = device_block::stop();
    d_ended = true;
    return done;
}

int item_ring_impl::process(int,
                            gr_vector_int& ninput_items,
                            gr_vector_const_void_star& input_items,
                            gr_vector_void_star&)
{
    const int count = room(ninput_items[0]);
    if (count == 0)
        return 0;
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, count);
    d_history.follow(std::move(tags));
    // the memory is there from the start on only
    d_memory.write(work_stream(), input_items[0], count);
    d_history.forget_before(d_memory.oldest());
    consume_each(count);
    return 0;
}

int item_ring_impl::room(int count)
{
    if (!d_hold || count == 0)
        return count;
    std::unique_lock<std::mutex> guard(d_keeping);
    const auto free = [this] {
        const auto end = d_kept + uint64_t(capacity()), items = d_memory.items();
        return end > items ? end - items : 0;
    };
    // GNU Radio calls again at once, after it has handled messages
    if (free() == 0)
        d_let_go.wait_for(guard, longest_hold, [&] { return free() > 0; });
    return int(std::min<uint64_t>(uint64_t(count), free()));
}

void item_ring_impl::keep_from(uint64_t item)
{
    {
        std::lock_guard<std::mutex> guard(d_keeping);
        d_kept = item;
    }
    d_let_go.notify_all();
}

void item_ring_impl::receive(const pmt::pmt_t& message)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_triggers.push_back(message);
    if (d_triggers.size() > most_triggers)
        d_triggers.pop_front();
}

std::vector<pmt::pmt_t> item_ring_impl::take_triggers()
{
    // the block's thread, which would call receive(), has ended, or waits for room
    if (d_ended || d_hold)
        while (const auto message = delete_head_nowait(trigger_port))
            receive(message);
    std::lock_guard<std::mutex> guard(d_mutex);
    std::vector<pmt::pmt_t> taken{ d_triggers.begin(), d_triggers.end() };
    d_triggers.clear();
    return taken;
}

bool item_ring_impl::has_senders() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return !d_senders.empty();
}

bool item_ring_impl::awaits_triggers() const
{
    if (!d_ended)
        return true;
    std::lock_guard<std::mutex> guard(d_mutex);
    return std::any_of(d_senders.begin(), d_senders.end(), [](const auto& sender) {
        const auto block = sender.lock();
        return block && !block->finished() && block->detail() && !block->detail()->done();
    });
}

item_ring::piece
item_ring_impl::read(uint64_t first, int64_t count, int64_t offset, int64_t length)
{
    return d_memory.read(first, count, offset, length);
}

std::vector<item_ring::setting> item_ring_impl::settings() const
{
    return d_history.settings();
}

std::vector<std::pair<uint64_t, pmt::pmt_t>> item_ring_impl::told() const
{
    return d_history.told();
}

std::vector<item_ring::missing_run> item_ring_impl::missing(uint64_t first,
                                                            int64_t count) const
{
    return d_history.missing(first, count);
}

} // namespace gr::aperture
