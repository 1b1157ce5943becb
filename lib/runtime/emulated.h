/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_EMULATED_H
#define INCLUDED_APERTURE_RUNTIME_EMULATED_H

#include "runtime/backend.h"
#include <condition_variable>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace gr::aperture {

/*!
 * A device for tests, where there is no GPU: its memory is host memory in which each byte
 * is XORed with `mask`, so that code that takes it for the host's reads nonsense, and its
 * streams are threads, so that work is done late.
 */
namespace emulated {

constexpr unsigned char mask = 0xa5;

//! Copies from the host to the device or back, applying the mask.
APERTURE_DEVICE_API void copy_masked(void* to, const void* from, size_t bytes);

//! Settings that tests may change, before streams and rings are made.
struct settings {
    std::atomic<size_t> granularity{ 4096 };   //!< bytes, of memory that is mapped twice
    std::atomic<size_t> default_ring{ 65536 }; //!< bytes
    std::atomic<size_t> memory_size{ size_t(1) << 34 };
    //! Longest random delay of a piece of work, microseconds.
    std::atomic<int> delay{ 0 };
    //! Delay of each clearing of memory, microseconds.
    std::atomic<int> clear_delay{ 0 };
    //! Delay of each copy to the host, microseconds.
    std::atomic<int> copy_delay{ 0 };
    //! True if devices can access each other's memory.
    std::atomic<bool> peers{ true };
    /*!
     * Streams that are made while this is true are reluctant: they do a piece of work at
     * the latest moment that the waits between streams allow, which is when a thread
     * waits for it and all streams that are not reluctant are at rest, because they have
     * no work left or wait for an event. A missing wait shows then, however fast threads
     * happen to be.
     */
    std::atomic<bool> reluctant{ false };
    //! Is called when a piece of a reluctant stream's work is waited for.
    std::function<void()> before_reluctant_work;
};
APERTURE_DEVICE_API settings& current_settings();

//! Returns the bytes of device memory that are allocated.
size_t memory_in_use();
//! Returns the index of the device that owns a pointer's memory; -1: none does.
int owner_of(const void* memory);
//! Returns the bytes of host memory that are pinned.
size_t pinned_memory();

//! Returns the longest queue of work of any stream since the last call.
size_t longest_queue();

class APERTURE_DEVICE_API stream : public aperture::stream
{
public:
    stream();
    ~stream() override;
    void synchronize() override;
    event_sptr record() override;
    void wait(const event_sptr& e) override;
    void copy(void* to, const void* from, size_t bytes, direction d) override;
    void clear(void* memory, size_t bytes) override;

    //! Gives work to the stream's thread. If it throws, the stream has failed.
    void run(std::function<void()> work);

private:
    struct demand;
    class mark;

    void loop();
    uint64_t push(std::function<void()> work);
    void throw_failure();

    std::mutex d_mutex; // guards all but the thread
    std::condition_variable d_changed;
    std::deque<std::function<void()>> d_queue;
    bool d_idle = true, d_quit = false;
    uint64_t d_pushed = 0;
    const std::shared_ptr<demand> d_demand; // demand for work of a reluctant stream
    std::exception_ptr d_failure;
    unsigned d_random;
    std::thread d_thread;
};

std::shared_ptr<const backend> make_backend(int index);

} // namespace emulated
} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_EMULATED_H */
