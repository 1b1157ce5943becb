/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/message_senders.h"
#include <gnuradio/block_detail.h>
#include <gnuradio/block_registry.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>
#include <algorithm>

namespace gr::aperture {

namespace {

//! Walks from block to block.
class walk
{
public:
    walk(gr::block& receiver, const pmt::pmt_t& port)
        : d_target(pmt::cons(receiver.alias_pmt(), port))
    {
        // the list of blocks grows meanwhile
        look_around(receiver);
        for (size_t i = 0; i < d_found.size(); i++) {
            const auto block = d_found[i];
            look_around(*block);
        }
    }

    std::vector<gr::block_sptr> senders;

private:
    void see(const gr::block_sptr& block)
    {
        if (block && std::find(d_found.begin(), d_found.end(), block) == d_found.end())
            d_found.push_back(block);
    }

    void see_ends_of(const gr::buffer_sptr& buffer)
    {
        if (!buffer)
            return;
        see(buffer->link());
        for (size_t i = 0; i < buffer->nreaders(); i++)
            see(buffer->reader(i)->link());
    }

    void look_around(gr::block& block)
    {
        if (const auto detail = block.detail()) {
            for (int i = 0; i < detail->ninputs(); i++)
                see_ends_of(detail->input(i)->buffer());
            for (int i = 0; i < detail->noutputs(); i++)
                see_ends_of(detail->output(i));
        }
        const auto ports = block.message_ports_out();
        for (size_t i = 0; i < pmt::length(ports); i++) {
            auto subscribers = block.message_subscribers(pmt::vector_ref(ports, i));
            for (; pmt::is_pair(subscribers); subscribers = pmt::cdr(subscribers)) {
                const auto subscriber = pmt::car(subscribers);
                if (pmt::equal(subscriber, d_target))
                    senders.push_back(
                        std::dynamic_pointer_cast<gr::block>(block.shared_from_this()));
                else
                    see(block_of(pmt::car(subscriber)));
            }
        }
    }

    static gr::block_sptr block_of(const pmt::pmt_t& alias)
    {
        try {
            return std::dynamic_pointer_cast<gr::block>(
                global_block_registry.block_lookup(alias));
        } catch (const std::exception&) { // the block is not there any more
            return nullptr;
        }
    }

    const pmt::pmt_t d_target;
    std::vector<gr::block_sptr> d_found;
};

} // namespace

std::vector<gr::block_sptr> message_senders(gr::block& receiver, const pmt::pmt_t& port)
{
    return walk(receiver, port).senders;
}

} // namespace gr::aperture
