/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/settings_ahead.h"
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <algorithm>
#include <chrono>
#include <thread>

namespace gr::aperture {

namespace {

using std::chrono::microseconds;

constexpr microseconds first_wait{ 20 }, longest_wait{ 1000 };
// Waits of the longest kind without any progress, a minute, and not a time: a process
// that was stopped meanwhile has not waited.
constexpr int most_waits = 60000;

//! The items that a sender has read, and those that there are.
struct state {
    uint64_t read, there;
};
state state_of(gr::buffer_reader& reader)
{
    gr::thread::scoped_lock guard(*reader.mutex());
    const uint64_t read = reader.nitems_read();
    return { read, read + uint64_t(reader.items_available()) };
}

bool has_ended(const std::weak_ptr<gr::block>& sender)
{
    const auto block = sender.lock();
    return !block || !block->detail() || block->detail()->done();
}

//! Waits until a sender has read all that is there now.
//! \returns false if it has not got on for too long
bool wait_for(const std::weak_ptr<gr::block>& block, gr::buffer_reader& reader)
{
    const uint64_t wanted = state_of(reader).there;
    uint64_t before = 0;
    auto pause = first_wait;
    for (int waits = 0; waits < most_waits; waits++) {
        const uint64_t now = state_of(reader).read;
        if (now >= wanted || has_ended(block) ||
            boost::this_thread::interruption_requested())
            return true;
        if (now != before)
            waits = 0;
        before = now;
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, longest_wait);
    }
    return false;
}

} // namespace

bool settings_ahead::is_sender(gr::block& block) const
{
    const auto detail = block.detail();
    if (!detail || detail->ninputs() != 1)
        return false; // one of several inputs may come from behind
    const auto ports = block.message_ports_out();
    for (size_t i = 0; i < pmt::length(ports); i++) {
        const auto port = pmt::vector_ref(ports, i);
        const std::string name = pmt::symbol_to_string(port);
        if (name.compare(0, d_port.size(), d_port) == 0 &&
            name.find_first_not_of("0123456789", d_port.size()) == std::string::npos &&
            pmt::is_pair(block.message_subscribers(port)))
            return true;
    }
    return false;
}

void settings_ahead::find(gr::block& block, std::vector<gr::block*>& seen)
{
    if (std::find(seen.begin(), seen.end(), &block) != seen.end())
        return;
    seen.push_back(&block);
    const auto detail = block.detail();
    for (int i = 0; detail && i < detail->ninputs(); i++) {
        const auto buffer = detail->input(i)->buffer();
        for (size_t r = 0; r < buffer->nreaders(); r++) {
            const auto other = buffer->reader(r)->link();
            if (other && other.get() != &block && is_sender(*other))
                d_senders.push_back({ other, other->detail()->input(0) });
        }
        if (const auto before = buffer->link())
            find(*before, seen);
    }
}

void settings_ahead::start(gr::block& block, const gr::logger_ptr& logger)
{
    d_senders.clear();
    d_logger = logger;
    std::vector<gr::block*> seen;
    find(block, seen);
}

void settings_ahead::wait()
{
    const auto hangs = [this](const sender& s) {
        if (wait_for(s.block, *s.reader))
            return false;
        const auto block = s.block.lock();
        d_logger->warn("{:s} sends settings and has not read its stream for a minute: it "
                       "is waited for no more, and its settings may come late",
                       block ? block->alias() : std::string("a block"));
        return true;
    };
    d_senders.erase(std::remove_if(d_senders.begin(), d_senders.end(), hangs),
                    d_senders.end());
}

} // namespace gr::aperture
