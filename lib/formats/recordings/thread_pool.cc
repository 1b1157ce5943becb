/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/thread_pool.h"
#include "system/linux.h"
#include <system_error>
#include <algorithm>
#include <utility>

namespace gr::aperture::formats {

namespace {

int threads_by_default()
{
    return std::clamp(
        int(system::usable_cores().size()), 1, thread_pool::most_by_default);
}

} // namespace

thread_pool::thread_pool(int threads)
    : d_threads(threads > 0 ? threads : threads_by_default())
{
}

thread_pool::~thread_pool()
{
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_ends = true;
    }
    d_begun.notify_all();
    for (auto& other : d_others)
        other.join();
}

void thread_pool::run(int64_t jobs, const std::function<void(int64_t, int)>& call)
{
    if (jobs <= 1 || d_threads == 1) {
        for (int64_t job = 0; job < jobs; job++)
            call(job, 0);
        return;
    }
    int others = int(std::min<int64_t>(jobs, d_threads)) - 1;
    try {
        while (int(d_others.size()) < others)
            d_others.emplace_back(&thread_pool::serve, this, int(d_others.size()) + 1);
    } catch (const std::system_error&) {
        // the system has no more threads, and fewer do the same
        others = int(d_others.size());
    }
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_call = &call;
        d_jobs = jobs;
        d_next = 0;
        d_wanted = others;
    }
    for (int i = 0; i < others; i++)
        d_begun.notify_one();
    work(0);
    std::unique_lock<std::mutex> guard(d_mutex);
    d_wanted = 0;
    d_done.wait(guard, [this] { return d_busy == 0; });
    if (d_thrown)
        std::rethrow_exception(std::exchange(d_thrown, nullptr));
}

void thread_pool::serve(int thread)
{
    std::unique_lock<std::mutex> guard(d_mutex);
    for (;;) {
        d_begun.wait(guard, [this] { return d_ends || d_wanted > 0; });
        if (d_ends)
            return;
        d_wanted--;
        d_busy++;
        guard.unlock();
        work(thread);
        guard.lock();
        if (--d_busy == 0)
            d_done.notify_one();
    }
}

void thread_pool::work(int thread)
{
    for (;;) {
        const int64_t job = d_next++;
        if (job >= d_jobs)
            return;
        try {
            (*d_call)(job, thread);
        } catch (...) {
            std::lock_guard<std::mutex> guard(d_mutex);
            if (!d_thrown)
                d_thrown = std::current_exception();
            d_next = d_jobs; // no job is begun any more
        }
    }
}

} // namespace gr::aperture::formats
