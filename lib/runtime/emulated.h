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
 * is XORed with `mask`, so that whoever takes it for the host's reads nonsense, and its
 * streams are threads, so that work is done late.
 */
namespace emulated {

constexpr unsigned char mask = 0xa5;

//! Copies from the host to the device or back.
APERTURE_DEVICE_API void copy_masked(void* to, const void* from, size_t bytes);

//! What tests may change, before streams and rings are made.
struct settings {
    std::atomic<size_t> granularity{ 4096 };   //!< of memory that is mapped twice
    std::atomic<size_t> default_ring{ 65536 }; //!< bytes
    std::atomic<size_t> memory_size{ size_t(1) << 34 };
    //! Longest random delay of a piece of work, microseconds.
    std::atomic<int> delay{ 0 };
    //! By how much each clearing of memory is late, microseconds.
    std::atomic<int> clear_delay{ 0 };
    //! By how much each copy to the host is late, microseconds.
    std::atomic<int> copy_delay{ 0 };
    //! Devices reach each other's memory.
    std::atomic<bool> peers{ true };
    /*!
     * Streams that are made while this is true are reluctant: they do a piece of work at
     * the latest moment that the waits between streams allow, which is when somebody
     * waits for it and all streams that are not reluctant have come to rest, because they
     * have no work left or wait for an event. A wait that is missing shows then, whatever
     * threads happen to be fast.
     */
    std::atomic<bool> reluctant{ false };
    //! What a reluctant stream calls when a piece of its work is waited for.
    std::function<void()> before_reluctant_work;
};
APERTURE_DEVICE_API settings& current_settings();

//! Bytes of device memory that are allocated.
size_t memory_in_use();
//! The number of the device that owns a pointer's memory; -1: none does.
int owner_of(const void* memory);
//! Bytes of host memory that are pinned.
size_t pinned_memory();

//! The most pieces of work that any stream had to do, since the last call.
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

    //! Work for the stream's thread. If it throws, the stream has failed.
    void run(std::function<void()> work);

private:
    struct demand;
    class mark;

    void loop();
    uint64_t push(std::function<void()> work);
    void throw_failure();

    std::mutex d_mutex; // of all but the thread
    std::condition_variable d_changed;
    std::deque<std::function<void()>> d_queue;
    bool d_idle = true, d_quit = false;
    uint64_t d_pushed = 0;
    const std::shared_ptr<demand> d_demand; // of a reluctant stream
    std::exception_ptr d_failure;
    unsigned d_random;
    std::thread d_thread;
};

std::shared_ptr<const backend> make_backend(int index);

} // namespace emulated
} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_EMULATED_H */
