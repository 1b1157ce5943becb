/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_THREAD_POOL_H
#define INCLUDED_APERTURE_FORMATS_THREAD_POOL_H

#include <condition_variable>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gr::aperture::formats {

/*!
 * Threads that share the jobs of one caller. They are made when there is first more than
 * one job, and sleep between two calls.
 */
class thread_pool
{
public:
    //! Largest number of threads that is taken where none is given: memory has no more to
    //! give to others.
    static constexpr int most_by_default = 16;

    //! \param threads with the caller's; 0: as many as the process may run at a time
    explicit thread_pool(int threads);
    ~thread_pool();
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;

    int threads() const { return d_threads; }

    /*!
     * Calls call(job, thread) for each job from 0 to jobs - 1, and returns when all are
     * done. Jobs are begun in their order. Threads are numbered from 0 to threads() - 1,
     * so that each can have memory of its own; 0 is the caller's, which works like the
     * others. A thread that wakes up too late to find a job is not waited for. After an
     * exception no job is begun; the first one is thrown here.
     *
     * One thread at a time may call this.
     */
    void run(int64_t jobs, const std::function<void(int64_t job, int thread)>& call);

private:
    void serve(int thread);
    // Does jobs until none is left.
    void work(int thread);

    const int d_threads;
    std::vector<std::thread> d_others;
    std::mutex d_mutex;
    std::condition_variable d_begun, d_done;
    // Under the mutex:
    int d_wanted = 0; // threads that may still begin with the jobs of this call
    int d_busy = 0;   // threads that have, the caller's apart
    bool d_ends = false;
    std::exception_ptr d_thrown;
    // Changed only while no thread is busy:
    const std::function<void(int64_t, int)>* d_call = nullptr;
    int64_t d_jobs = 0;
    std::atomic<int64_t> d_next{ 0 };
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_THREAD_POOL_H */
