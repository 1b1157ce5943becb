/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/periodic_call.h"

namespace gr::aperture {

periodic_call::~periodic_call() { stop(); }

void periodic_call::start(std::chrono::milliseconds period,
                          const std::function<void()>& call)
{
    stop();
    d_ends = false;
    d_thread = std::thread([this, period, call] {
        std::unique_lock<std::mutex> guard(d_mutex);
        while (!d_changed.wait_for(guard, period, [this] { return d_ends; }))
            call();
    });
}

void periodic_call::stop()
{
    if (!d_thread.joinable())
        return;
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_ends = true;
    }
    d_changed.notify_all();
    d_thread.join();
}

} // namespace gr::aperture
