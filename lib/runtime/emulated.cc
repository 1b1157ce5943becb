/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/emulated.h"
#include "runtime/host_memory.h"
#include "runtime/host_wait.h"
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

namespace gr::aperture::emulated {

namespace {

std::atomic<size_t> allocated{ 0 }, pinned{ 0 }, longest{ 0 };
std::atomic<unsigned> seeds{ 1 };

/*!
 * Counts the streams that are not reluctant and have work. Streams may end as late as the
 * program does.
 */
class eager_streams
{
public:
    static eager_streams& get()
    {
        static auto* const all = new eager_streams;
        return *all;
    }

    //! Notes that so many streams have work from now on.
    void begin(int streams) { d_busy += streams; }
    //! Notes that one of them has no work any more, or waits for an event.
    void rest()
    {
        if (--d_busy == 0 && reluctant_streams > 0)
            notify();
    }
    //! Waits for a condition that is changed under `mutex`, and until all are at rest.
    template <class condition>
    void wait_for_rest(condition also)
    {
        wait_for([&] { return also() && d_busy == 0; });
    }
    template <class condition>
    void wait_for(condition is_so)
    {
        std::unique_lock<std::mutex> lock(mutex);
        d_changed.wait(lock, is_so);
    }
    void notify()
    {
        std::lock_guard<std::mutex> guard(mutex);
        d_changed.notify_all();
    }

    std::mutex mutex;
    std::atomic<int> reluctant_streams{ 0 };

private:
    std::condition_variable d_changed;
    std::atomic<int> d_busy{ 0 };
};

//! True in threads of these streams.
thread_local bool on_eager_stream = false;

} // namespace

//! Tells how much of a reluctant stream's work others wait for.
struct stream::demand {
    static constexpr auto everything = std::numeric_limits<uint64_t>::max();

    demand() { eager_streams::get().reluctant_streams++; }
    ~demand() { eager_streams::get().reluctant_streams--; }

    //! Asks for the first so many pieces of work.
    void want(uint64_t pieces)
    {
        auto& others = eager_streams::get();
        {
            std::lock_guard<std::mutex> guard(others.mutex);
            d_wanted = std::max(d_wanted, pieces);
        }
        others.notify();
    }
    //! Waits for the latest moment for the piece of work of this number.
    void wait(uint64_t number)
    {
        auto& others = eager_streams::get();
        const auto wanted = [&] { return d_wanted >= number; };
        const auto& hook = current_settings().before_reluctant_work;
        if (hook) {
            others.wait_for(wanted);
            hook();
        }
        others.wait_for_rest(wanted);
    }

private:
    uint64_t d_wanted = 0; // under the mutex of eager_streams
};

/*!
 * An event of an emulated stream.
 */
class stream::mark : public event
{
public:
    explicit mark(std::shared_ptr<demand> d) : d_demand(std::move(d)) {}

    bool done() const override
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_done;
    }

    void synchronize() const override
    {
        working_thread::waits();
        if (d_demand)
            d_demand->want(number);
        std::unique_lock<std::mutex> lock(d_mutex);
        if (!d_done && on_eager_stream) {
            d_resting++;
            eager_streams::get().rest();
        }
        d_changed.wait(lock, [this] { return d_done; });
    }

    void set() const
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_done = true;
        // Waiting streams have work from here on, not only when their threads awake.
        eager_streams::get().begin(std::exchange(d_resting, 0));
        d_changed.notify_all();
    }

    uint64_t number = 0; // number of the piece of work that sets it

private:
    const std::shared_ptr<demand> d_demand; // demand of its stream, if that is reluctant
    mutable std::mutex d_mutex;
    mutable std::condition_variable d_changed;
    mutable bool d_done = false;
    mutable int d_resting = 0; // streams that wait, and are not reluctant
};

namespace {

//! The owners of memory, by device. It outlives all that is destroyed when a program
//! ends: rings may be freed as late as that.
struct owners {
    std::mutex mutex;
    std::map<const char*, std::pair<size_t, int>> ranges; // start: bytes, device

    static owners& get()
    {
        static auto* const all = new owners;
        return *all;
    }
};

class emulated_backend : public backend
{
public:
    explicit emulated_backend(int index) : d_index(index) {}

    std::string description() const override { return "emulated device"; }

    std::unique_ptr<aperture::stream> make_stream() const override
    {
        return std::make_unique<stream>();
    }

    size_t granularity() const override { return current_settings().granularity; }
    size_t default_ring() const override { return current_settings().default_ring; }

    memory allocate(size_t bytes) const override
    {
        return counted(bytes, bytes, allocate_host_memory);
    }

    memory allocate_twice_mapped(size_t bytes) const override
    {
        return counted(bytes, 2 * bytes, map_host_memory_twice);
    }

    bool share(char*, size_t, bool, const backend&) const override
    {
        return current_settings().peers;
    }

    std::shared_ptr<void> pin(void* host_memory, size_t bytes) const override
    {
        pinned += bytes;
        return { host_memory, [bytes](void*) { pinned -= bytes; } };
    }

private:
    memory counted(size_t bytes, size_t mapped, memory (*allocate)(size_t)) const
    {
        const size_t size = current_settings().memory_size, used = allocated;
        if (used + bytes > size)
            throw std::runtime_error("emulated: " + std::to_string(bytes) +
                                     " bytes of device memory were asked for, " +
                                     std::to_string(size - std::min(used, size)) +
                                     " of " + std::to_string(size) + " are free");
        memory m = allocate(bytes);
        allocated += bytes;
        auto free = m.get_deleter();
        {
            std::lock_guard<std::mutex> guard(owners::get().mutex);
            owners::get().ranges[m.get()] = { mapped, d_index };
        }
        return memory(m.release(), [free, bytes](char* p) {
            {
                std::lock_guard<std::mutex> guard(owners::get().mutex);
                owners::get().ranges.erase(p);
            }
            free(p);
            allocated -= bytes;
        });
    }

    const int d_index;
};

} // namespace

void copy_masked(void* to, const void* from, size_t bytes)
{
    auto* out = static_cast<unsigned char*>(to);
    auto* in = static_cast<const unsigned char*>(from);
    for (size_t i = 0; i < bytes; i++)
        out[i] = in[i] ^ mask;
}

settings& current_settings()
{
    static settings s;
    return s;
}

int owner_of(const void* memory)
{
    const auto* p = static_cast<const char*>(memory);
    auto& all = owners::get();
    std::lock_guard<std::mutex> guard(all.mutex);
    auto after = all.ranges.upper_bound(p);
    if (after == all.ranges.begin())
        return -1;
    const auto& [start, range] = *std::prev(after);
    return p < start + range.first ? range.second : -1;
}

size_t memory_in_use() { return allocated; }
size_t pinned_memory() { return pinned; }
size_t longest_queue() { return longest.exchange(0); }

stream::stream()
    : d_demand(current_settings().reluctant ? std::make_shared<demand>() : nullptr),
      d_random(seeds++),
      d_thread([this] { loop(); })
{
}

stream::~stream()
{
    if (d_demand)
        d_demand->want(demand::everything);
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_quit = true;
        d_changed.notify_all();
    }
    d_thread.join();
}

void stream::loop()
{
    on_eager_stream = !d_demand;
    std::unique_lock<std::mutex> lock(d_mutex);
    for (uint64_t number = 1;; number++) {
        if (!d_idle && d_queue.empty()) {
            d_idle = true;
            d_changed.notify_all();
            if (!d_demand)
                eager_streams::get().rest();
        }
        d_changed.wait(lock, [this] { return d_quit || !d_queue.empty(); });
        if (d_queue.empty())
            return;
        auto work = std::move(d_queue.front());
        d_queue.pop_front();
        lock.unlock();
        if (d_demand)
            d_demand->wait(number);
        // some of the work only, so that neither everything nor nothing is late
        d_random = d_random * 1664525u + 1013904223u;
        const int delay = current_settings().delay;
        if (delay > 0 && d_random >> 29 == 0)
            std::this_thread::sleep_for(
                std::chrono::microseconds((d_random >> 8) % delay));
        std::exception_ptr failure;
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
        work = nullptr;
        lock.lock();
        if (failure)
            d_failure = failure;
    }
}

void stream::throw_failure()
{
    if (d_failure)
        std::rethrow_exception(std::exchange(d_failure, nullptr));
}

void stream::run(std::function<void()> work) { push(std::move(work)); }

uint64_t stream::push(std::function<void()> work)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    throw_failure();
    d_queue.push_back(std::move(work));
    size_t seen = longest;
    while (seen < d_queue.size() &&
           !longest.compare_exchange_weak(seen, d_queue.size())) {
    }
    if (d_idle && !d_demand)
        eager_streams::get().begin(1);
    d_idle = false;
    d_changed.notify_all();
    return ++d_pushed;
}

void stream::synchronize()
{
    working_thread::waits();
    std::unique_lock<std::mutex> lock(d_mutex);
    if (d_demand)
        d_demand->want(d_pushed);
    d_changed.wait(lock, [this] { return d_idle; });
    throw_failure();
}

event_sptr stream::record()
{
    auto e = std::make_shared<mark>(d_demand);
    e->number = push([e] { e->set(); });
    return e;
}

void stream::wait(const event_sptr& e)
{
    if (e)
        run([e] { e->synchronize(); });
}

void stream::copy(void* to, const void* from, size_t bytes, direction d)
{
    if (d == direction::within_device)
        run([=] { std::memcpy(to, from, bytes); });
    else {
        const bool down = d == direction::device_to_host;
        const int late = down ? int(current_settings().copy_delay) : 0;
        run([=] {
            std::this_thread::sleep_for(std::chrono::microseconds(late));
            copy_masked(to, from, bytes);
        });
    }
}

void stream::clear(void* memory, size_t bytes)
{
    const int late = current_settings().clear_delay;
    run([=] {
        std::this_thread::sleep_for(std::chrono::microseconds(late));
        std::memset(memory, mask, bytes);
    });
}

std::shared_ptr<const backend> make_backend(int index)
{
    return std::make_shared<emulated_backend>(index);
}

} // namespace gr::aperture::emulated
