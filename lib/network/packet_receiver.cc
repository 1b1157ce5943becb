/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "network/packet_receiver.h"
#include <algorithm>
#include <array>
#include <stdexcept>

namespace gr::aperture::network {

namespace {

constexpr int idle_ms = 50;

bool contains(const std::vector<int>& cores, int core)
{
    return std::find(cores.begin(), cores.end(), core) != cores.end();
}

} // namespace

void check_core(const std::string& parameter, int core)
{
    const auto allowed = system::usable_cores();
    std::string cores;
    for (const int one : allowed)
        cores += (cores.empty() ? "" : ", ") + std::to_string(one);
    require(contains(allowed, core),
            parameter,
            std::to_string(core),
            "a core that this process may use: " + cores);
}

packet_receiver::packet_receiver(std::unique_ptr<receive_queue> queue, int core)
    : d_queue(std::move(queue)), d_core(core)
{
}

packet_receiver::~packet_receiver() { stop(); }

void packet_receiver::start(taker take)
{
    stop();
    d_failed = d_stopped = false;
    d_wake.clear();
    d_queue->open();
    d_thread = std::thread([this, take = std::move(take)] {
        try {
            run(take);
        } catch (const std::exception& error) {
            d_error = error.what();
            d_failed = true;
        }
    });
}

void packet_receiver::stop()
{
    if (!d_thread.joinable())
        return;
    d_stopped = true;
    d_wake.notify();
    d_thread.join();
    d_queue->close();
}

std::string packet_receiver::error() const { return d_failed ? d_error : std::string(); }

void packet_receiver::run(const taker& take)
{
    system::name_thread("packets");
    if (d_core >= 0) {
        system::pin_thread({ d_core });
    } else {
        // the card may be near cores that this process may not use
        const auto allowed = system::usable_cores();
        std::vector<int> cores;
        for (const int core : d_queue->near_cores())
            if (contains(allowed, core))
                cores.push_back(core);
        if (!cores.empty())
            system::pin_thread(cores);
    }
    std::array<datagram, datagrams_at_once> found;
    // a flood must not keep the thread from being stopped
    while (!d_stopped) {
        const size_t got = d_queue->receive(found.data(), found.size());
        take(found.data(), got);
        d_queue->release();
        // there are no more, as a rule, where fewer came than could be taken
        if (got < found.size())
            d_queue->wait(d_wake.descriptor(), idle_ms);
    }
}

} // namespace gr::aperture::network
