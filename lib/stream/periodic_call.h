/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_PERIODIC_CALL_H
#define INCLUDED_APERTURE_STREAM_PERIODIC_CALL_H

#include <condition_variable>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

namespace gr::aperture {

//! Calls a function at regular intervals, in a thread of its own.
class periodic_call
{
public:
    ~periodic_call();
    void start(std::chrono::milliseconds period, const std::function<void()>& call);
    //! Stops: when this returns, the function is not called any more.
    void stop();

private:
    std::thread d_thread;
    std::mutex d_mutex;
    std::condition_variable d_changed;
    bool d_ends = false;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_PERIODIC_CALL_H */
