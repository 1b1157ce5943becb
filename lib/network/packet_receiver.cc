/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "network/packet_receiver.h"
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <array>
#include <stdexcept>

namespace gr::aperture::network {

namespace {

constexpr int idle_ms = 50;

cpu_set_t allowed_cores()
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    return allowed;
}

} // namespace

void check_core(const std::string& parameter, int core)
{
    const cpu_set_t allowed = allowed_cores();
    std::string cores;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed))
            cores += (cores.empty() ? "" : ", ") + std::to_string(i);
    require(core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, &allowed),
            parameter,
            std::to_string(core),
            "a core that this process may use: " + cores);
}

void pin_thread(const std::vector<int>& cores)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    std::string names;
    for (const int core : cores) {
        CPU_SET(core, &set);
        names += (names.empty() ? "" : ", ") + std::to_string(core);
    }
    const int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    if (error)
        throw std::runtime_error("core " + names + ": " + std::strerror(error));
}

packet_receiver::packet_receiver(std::unique_ptr<receive_queue> queue, int core)
    : d_queue(std::move(queue)),
      d_core(core),
      d_wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
}

packet_receiver::~packet_receiver()
{
    stop();
    ::close(d_wake);
}

void packet_receiver::start(taker take)
{
    stop();
    d_failed = d_stopped = false;
    uint64_t old;
    while (::read(d_wake, &old, sizeof old) > 0) {
    }
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
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(d_wake, &one, sizeof one);
    d_thread.join();
    d_queue->close();
}

std::string packet_receiver::error() const { return d_failed ? d_error : std::string(); }

void packet_receiver::run(const taker& take)
{
    pthread_setname_np(pthread_self(), "packets");
    if (d_core >= 0) {
        pin_thread({ d_core });
    } else {
        // the card may be near cores that this process may not use
        const cpu_set_t allowed = allowed_cores();
        std::vector<int> cores;
        for (const int core : d_queue->near_cores())
            if (core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, &allowed))
                cores.push_back(core);
        if (!cores.empty())
            pin_thread(cores);
    }
    std::array<datagram, datagrams_at_once> found;
    // a flood must not keep the thread from being stopped
    while (!d_stopped) {
        const size_t got = d_queue->receive(found.data(), found.size());
        take(found.data(), got);
        d_queue->release();
        // there are no more, as a rule, where fewer came than could be taken
        if (got < found.size())
            d_queue->wait(d_wake, idle_ms);
    }
}

} // namespace gr::aperture::network
