/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "runtime/call_check.h"
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>
#include <algorithm>
#include <stdexcept>

namespace gr::aperture {

namespace {

//! Calls without consuming an item after which a block is taken to be in a loop, if it
//! has also made as many times the items that wait at its inputs.
constexpr int64_t calls_of_a_loop = 1000;

} // namespace

void call_check::start()
{
    d_has_consumed = d_said = false;
    d_calls = d_made = 0;
    d_idle.reset();
}

void call_check::begin(int room, const gr_vector_int& offered)
{
    d_room = room;
    d_offered = offered;
    d_consumes = d_produces = false;
}

void call_check::consume(int port, int items)
{
    if (port < 0 || size_t(port) >= d_offered.size())
        throw std::runtime_error("consume() of input " + std::to_string(port) +
                                 ": the block has " + std::to_string(d_offered.size()) +
                                 " inputs");
    if (items < 0 || items > d_offered[port])
        throw std::runtime_error("consume() of " + std::to_string(items) +
                                 " items of input " + std::to_string(port) +
                                 ": the call was given " +
                                 std::to_string(d_offered[port]) +
                                 " (ninput_items), less what it has consumed");
    d_offered[port] -= items;
    d_consumes = d_consumes || items > 0;
}

void call_check::consume_each(int items)
{
    for (size_t port = 0; port < d_offered.size(); port++)
        consume(int(port), items);
}

void call_check::produce(int port, int items)
{
    const auto output = d_block.detail()->output(port);
    if (items < 0 || items > d_room)
        throw std::runtime_error("produce() of " + std::to_string(items) +
                                 " items of output " + std::to_string(port) +
                                 ": there is room for " + std::to_string(d_room) +
                                 " (noutput_items)");
    d_produces = d_produces || items > 0;
}

std::string call_check::end(int returned)
{
    const bool sink = d_block.detail()->noutputs() == 0;
    if (returned < gr::block::WORK_CALLED_PRODUCE)
        throw std::runtime_error(rules.function + " returned " +
                                 std::to_string(returned) +
                                 ": it must be a number of items, or -1 (WORK_DONE) to "
                                 "end the stream");
    if (!sink && returned > d_room)
        throw std::runtime_error(rules.function + " returned " +
                                 std::to_string(returned) + " items: there is room for " +
                                 std::to_string(d_room) +
                                 ", and memory behind it may have been written");
    if (returned == gr::block::WORK_DONE || d_offered.empty())
        return {};
    if (d_consumes) {
        d_has_consumed = true;
        d_idle.reset();
        return {};
    }
    if (!sink && (returned > 0 || d_produces)) {
        d_idle.reset();
        d_calls++;
        d_made += std::max(returned, 1);
        never_consumes();
        return {};
    }
    return idle();
}

call_check::surroundings call_check::look() const
{
    surroundings s;
    const auto detail = d_block.detail();
    for (int port = 0; port < detail->ninputs(); port++) {
        auto reader = detail->input(port);
        const gr::thread::scoped_lock guard(*reader->mutex());
        // in this order: the items available may grow until done() is true, not later
        const bool done = reader->done();
        const int items = reader->items_available();
        s.ended = s.ended && done;
        s.full = s.full && (done || size_t(items) >= reader->buffer()->bufsize() / 2);
        s.items.push_back(items);
    }
    for (int port = 0; port < detail->noutputs(); port++) {
        auto buffer = detail->output(port);
        const gr::thread::scoped_lock guard(*buffer->mutex());
        s.items.push_back(buffer->space_available());
    }
    return s;
}

//! Returns whether the block may wait for a message.
bool call_check::has_messages() const
{
    const auto ports = d_block.message_ports_in();
    return pmt::length(ports) > 1; // every block has one for its end
}

std::string call_check::left_over(const surroundings& s) const
{
    std::string text;
    for (int port = 0; port < d_block.detail()->ninputs(); port++)
        text += (port ? ", " : "") + std::to_string(s.items[port]) + " at input " +
                std::to_string(port);
    return text;
}

std::string call_check::idle()
{
    const auto now = std::chrono::steady_clock::now();
    const auto s = look();
    if (!d_idle || !(*d_idle == s)) {
        d_idle = s;
        d_since = now;
        return {};
    }
    const double seconds = std::chrono::duration<double>(now - d_since).count();
    if (d_said || !s.full || seconds < rules.most_idle || has_messages())
        return {};
    const std::string what = rules.function + " has taken and made nothing for " +
                             text_of(rules.most_idle) + " s, ";
    if (s.ended)
        throw std::runtime_error(what +
                                 "though its inputs have ended, and would never end; "
                                 "items that wait: " +
                                 left_over(s) + ". " + rules.remedy);
    d_said = true;
    return what + "though there are items: " + left_over(s) + ". " + rules.remedy;
}

void call_check::never_consumes()
{
    if (d_has_consumed || d_calls < calls_of_a_loop)
        return;
    const auto s = look();
    int64_t most = 1;
    for (size_t port = 0; port < d_offered.size(); port++)
        most = std::max<int64_t>(most, s.items[port]);
    if (double(d_made) <
        double(calls_of_a_loop) * double(most) * std::max(1.0, d_block.relative_rate()))
        return;
    throw std::runtime_error(rules.function + " was called " + std::to_string(d_calls) +
                             " times, has made " + std::to_string(d_made) +
                             " items, and has never consumed one of its inputs. " +
                             rules.remedy);
}

} // namespace gr::aperture
