/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_CPP_QA_DEVICE_H
#define INCLUDED_APERTURE_TESTS_CPP_QA_DEVICE_H

#include "runtime/emulated.h"
#include "tiers.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

/*
 * Blocks for flowgraphs on the emulated device. A stream is a sequence of bytes that
 * depend on their place, so that a byte at a wrong place, or too early, is a wrong byte.
 */
namespace qa {

using namespace gr::aperture;

/*
 * Rings are read and written by memcpy, whose ranges the sanitizers check as a whole.
 * Computations in memory that no other thread has are hidden from ThreadSanitizer, which
 * would need a hundred times as long for them. That memory is on the stack, as memory of
 * the heap costs it much each time.
 */
#define APERTURE_QA_PRIVATE __attribute__((no_sanitize("thread"), noinline))

//! Bytes that a model is asked for at once, at most.
constexpr size_t piece = 4096;

//! Makes bytes of a stream from byte `first` on; those before byte 0 are history.
using model =
    std::function<void(int64_t first, size_t bytes, size_t item_size, uint8_t* out)>;

inline uint8_t sequence_byte(uint64_t position)
{
    return uint8_t(position * 0x9e3779b97f4a7c15u >> 56);
}

//! Makes bytes of a sequence from byte `first` on, plus an offset.
APERTURE_QA_PRIVATE inline void
fill_sequence(int64_t first, size_t bytes, uint8_t offset, uint8_t* out)
{
    const size_t history = first < 0 ? std::min(bytes, size_t(-first)) : 0;
    std::fill_n(out, history, 0);
    for (size_t k = history; k < bytes; k++)
        out[k] = uint8_t(sequence_byte(first + k) + offset);
}

//! out[k] = in[k] + 1 - before[k], or in[k] + 1 without `before`; bytes are under a mask.
APERTURE_QA_PRIVATE inline void take_step(
    const uint8_t* in, const uint8_t* before, size_t bytes, uint8_t mask, uint8_t* out)
{
    if (before)
        for (size_t k = 0; k < bytes; k++)
            out[k] = uint8_t((in[k] ^ mask) + 1 - (before[k] ^ mask)) ^ mask;
    else
        for (size_t k = 0; k < bytes; k++)
            out[k] = uint8_t((in[k] ^ mask) + 1) ^ mask;
}

APERTURE_QA_PRIVATE inline int64_t
count_wrong(const uint8_t* bytes, const uint8_t* expected, size_t n, uint8_t mask)
{
    int64_t wrong = 0;
    for (size_t k = 0; k < n; k++)
        wrong += uint8_t(bytes[k] ^ mask) != expected[k];
    return wrong;
}

//! f(offset, bytes) for each piece of a range of bytes.
template <class function>
void for_each_piece(size_t bytes, function f)
{
    for (size_t at = 0; at < bytes; at += piece)
        f(at, std::min(piece, bytes - at));
}

//! Returns the stream that a source sends on some port.
inline model sequence(int port = 0)
{
    return [=](int64_t first, size_t bytes, size_t, uint8_t* out) {
        fill_sequence(first, bytes, uint8_t(port), out);
    };
}

//! Returns the stream that a step with a delay makes of another one.
inline model stepped(model m, int delay = 0)
{
    return [=](int64_t first, size_t bytes, size_t size, uint8_t* out) {
        uint8_t in[piece], before[piece];
        m(first, bytes, size, in);
        if (delay)
            m(first - delay * int64_t(size), bytes, size, before);
        take_step(in, delay ? before : nullptr, bytes, 0, out);
        if (first < 0)
            std::memset(out, 0, std::min<size_t>(-first, bytes));
    };
}

//! Returns a stream in which byte b of each item i is f(i, b).
template <class function>
model each_byte(function f)
{
    return [=](int64_t first, size_t bytes, size_t item_size, uint8_t* out) {
        const int64_t size = int64_t(item_size);
        for (int64_t k = first; k < first + int64_t(bytes); k++) {
            const int64_t item = k < 0 ? (k + 1) / size - 1 : k / size;
            *out++ = f(item, size_t(k - item * size));
        }
    };
}

//! Returns how many bytes of a ring differ from those that a stream should hold there.
inline int64_t wrong_bytes(const void* ring,
                           const model& m,
                           int64_t first,
                           int64_t n,
                           size_t item_size,
                           uint8_t mask = 0)
{
    int64_t wrong = 0;
    for_each_piece(n * item_size, [&](size_t at, size_t bytes) {
        uint8_t found[piece], expected[piece];
        std::memcpy(found, static_cast<const uint8_t*>(ring) + at, bytes);
        m(first * int64_t(item_size) + int64_t(at), bytes, item_size, expected);
        wrong += count_wrong(found, expected, bytes, mask);
    });
    return wrong;
}

//! Waits until a condition holds, for ten minutes at most; returns whether it does.
template <class condition>
bool comes_true(condition is_so)
{
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    while (!is_so() && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return is_so();
}

//! Returns odd lengths, so that calls never line up with the ends of rings.
class chunks
{
public:
    explicit chunks(unsigned seed) : d_state(seed) {}
    int next(int most)
    {
        d_state = d_state * 1664525u + 1013904223u;
        const int n = 1 + int((d_state >> 8) % unsigned(std::max(1, most)));
        return n > 1 && n % 2 == 0 ? n - 1 : n;
    }

private:
    unsigned d_state;
};

//! A host source, all of whose ports carry a sequence.
class source : public gr::sync_block
{
public:
    //! \param tags one tag each so many items, with the item's index
    source(size_t item_size, int64_t items, int tags = 0, int ports = 1)
        : gr::sync_block("source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, ports, int(item_size))),
          d_size(item_size),
          d_items(items),
          d_tags(tags),
          d_chunks(unsigned(item_size))
    {
    }

    bool start() override
    {
        d_sent = 0;
        return true;
    }

    int work(int noutput_items,
             gr_vector_const_void_star&,
             gr_vector_void_star& output_items) override
    {
        if (d_sent == d_items || !comes_true([this] { return d_sent != gate; }))
            return WORK_DONE;
        const int64_t end = d_sent < gate ? std::min<int64_t>(gate, d_items) : d_items;
        const int n = int(std::min<int64_t>(
            whole_calls ? noutput_items : d_chunks.next(noutput_items), end - d_sent));
        for (size_t port = 0; port < output_items.size(); port++) {
            auto* out = static_cast<uint8_t*>(output_items[port]);
            for_each_piece(n * d_size, [&](size_t at, size_t bytes) {
                uint8_t made[piece];
                fill_sequence(d_sent * d_size + at, bytes, uint8_t(port), made);
                std::memcpy(out + at, made, bytes);
            });
            for (int i = 0; d_tags && i < n; i++)
                if ((d_sent + i) % d_tags == 0)
                    add_item_tag(int(port),
                                 nitems_written(0) + i,
                                 pmt::intern("number"),
                                 pmt::from_uint64(d_sent + i));
        }
        d_sent += n;
        return n;
    }

    bool whole_calls = false;
    //! The item before which it waits until this is changed.
    std::atomic<int64_t> gate{ -1 };

private:
    const size_t d_size;
    const int64_t d_items;
    const int d_tags;
    int64_t d_sent = 0;
    chunks d_chunks;
};

//! A host sink that compares with a model.
class sink : public gr::sync_block
{
public:
    //! \param pause of each call, in microseconds
    sink(size_t item_size, model m, int pause = 0)
        : gr::sync_block("sink",
                         gr::io_signature::make(1, 1, int(item_size)),
                         gr::io_signature::make(0, 0, 0)),
          d_size(item_size),
          d_model(std::move(m)),
          d_pause(pause),
          d_chunks(unsigned(item_size + 1))
    {
    }

    bool start() override
    {
        items = wrong = tags = wrong_tags = 0;
        return true;
    }

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star&) override
    {
        const int n = d_chunks.next(noutput_items);
        if (d_pause)
            std::this_thread::sleep_for(std::chrono::microseconds(d_pause));
        if (in_call)
            in_call();
        wrong += wrong_bytes(input_items[0], d_model, items, n, d_size);
        std::vector<gr::tag_t> found;
        get_tags_in_window(found, 0, 0, n, pmt::intern("number"));
        for (const auto& t : found) {
            tags++;
            wrong_tags += pmt::to_uint64(t.value) != t.offset;
        }
        items += n;
        return n;
    }

    std::atomic<int64_t> items{ 0 }, wrong{ 0 }, tags{ 0 }, wrong_tags{ 0 };
    std::function<void()> in_call; // to be set before the flowgraph runs

private:
    const size_t d_size;
    const model d_model;
    const int d_pause;
    chunks d_chunks;
};

//! A device block: y[i] = x[i] + 1, or x[i] + 1 - x[i - delay] with a delay above 0.
class step : public device_block
{
public:
    step(size_t item_size,
         int delay = 0,
         int multiple = 1,
         const std::string& on = "emulated")
        : gr::block("step",
                    signature_on(device::select(on), 1, int(item_size)),
                    signature_on(device::select(on), 1, int(item_size))),
          device_block(device::select(on)),
          d_size(item_size),
          d_delay(delay),
          d_chunks(unsigned(item_size * 3 + delay))
    {
        set_history(delay + 1);
        if (multiple > 1)
            set_output_multiple(multiple);
        set_latency(0); // makes as many calls at a time as there can be
    }

    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override
    {
        calls++;
        call_times.push_back(std::chrono::steady_clock::now());
        if (fail_at == calls)
            throw std::runtime_error("the test wanted an error");
        int n = std::min(noutput_items, ninput_items[0] - d_delay);
        if (one_at_a_time)
            n = 1;
        else if (!whole_calls)
            n = d_chunks.next(n);
        n = std::max(1, n / output_multiple()) * output_multiple();
        const auto* in = static_cast<const uint8_t*>(input_items[0]);
        auto* out = static_cast<uint8_t*>(output_items[0]);
        const int own = runs_on().index();
        if (emulated::owner_of(in) != own || emulated::owner_of(out) != own)
            throw std::runtime_error("the test found memory of another device");
        const size_t bytes = n * d_size, lag = d_delay * d_size;
        const int wait = pause, call = calls;
        const bool fails = fail_in_kernel_at == calls;
        const bool within_call = fails && fail_within_call;
        const size_t room = scribbles ? noutput_items * d_size : 0;
        const auto asked_for_all = std::make_shared<std::atomic<bool>>(!within_call);
        dynamic_cast<emulated::stream&>(work_stream()).run([=] {
            if (wait)
                std::this_thread::sleep_for(std::chrono::microseconds(wait));
            if (in_kernel)
                in_kernel(call);
            while (!*asked_for_all)
                std::this_thread::yield();
            if (fails)
                throw std::runtime_error("the test wanted an error in a kernel");
            std::fill_n(out, room, 0x33);
            for_each_piece(bytes, [&](size_t at, size_t some) {
                uint8_t read[piece], before[piece], made[piece];
                std::memcpy(read, in + lag + at, some);
                if (lag)
                    std::memcpy(before, in + at, some);
                take_step(read, lag ? before : nullptr, some, emulated::mask, made);
                std::memcpy(out + at, made, some);
            });
        });
        consume_each(n);
        if (within_call) {
            const event_sptr failed = work_stream().record();
            *asked_for_all = true;
            while (!failed->done())
                std::this_thread::yield();
        }
        return n;
    }

    // to be set before the flowgraph runs
    int pause = 0; // pause of each kernel, in microseconds
    std::function<void(int call)> in_kernel;
    bool whole_calls = false, one_at_a_time = false;
    bool scribbles = false;                 // over all the room that it is given
    int fail_at = 0, fail_in_kernel_at = 0; // number of the call
    // Makes the kernel fail before its call returns, after that has given all its work:
    // the buffer meets the error, when GNU Radio publishes the items.
    bool fail_within_call = false;
    std::atomic<int> calls{ 0 };
    std::vector<std::chrono::steady_clock::time_point> call_times;

private:
    const size_t d_size;
    const int d_delay;
    chunks d_chunks;
};

//! A device sink that compares with a model.
class device_sink : public device_block
{
public:
    device_sink(size_t item_size, model m, const std::string& on = "emulated")
        : gr::block("device_sink",
                    signature_on(device::select(on), 1, int(item_size)),
                    signature_on(device::select(on), 0, int(item_size))),
          device_block(device::select(on)),
          d_size(item_size),
          d_model(std::move(m))
    {
    }

    bool start() override
    {
        items = wrong = looked_at = 0;
        if (before_start)
            before_start();
        return device_block::start();
    }

    int process(int,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star&) override
    {
        const int n = ninput_items[0] / output_multiple() * output_multiple();
        const void* in = input_items[0];
        const int64_t first = items;
        dynamic_cast<emulated::stream&>(work_stream()).run([=] {
            wrong += wrong_bytes(in, d_model, first, n, d_size, emulated::mask);
            looked_at += n;
        });
        items += n;
        consume_each(n);
        return 0;
    }

    //! Items that it was called with, wrong ones, and items that its kernels looked at.
    std::atomic<int64_t> items{ 0 }, wrong{ 0 }, looked_at{ 0 };
    std::function<void()> before_start; // to be set before the flowgraph runs

private:
    const size_t d_size;
    const model d_model;
};

//! A device source whose bytes have one value. Zeros are not worth a kernel: with them it
//! is never slow.
class device_source : public device_block
{
public:
    device_source(size_t item_size, int64_t items, uint8_t value = 0)
        : gr::block("device_source",
                    gr::io_signature::make(0, 0, 0),
                    signature_on(device::select("emulated"), 1, int(item_size))),
          device_block(device::select("emulated")),
          d_size(item_size),
          d_items(items),
          d_value(value)
    {
    }

    bool start() override
    {
        d_sent = 0;
        stopped = false;
        return device_block::start();
    }

    bool stop() override
    {
        const bool good = device_block::stop();
        stopped = true;
        return good;
    }

    int process(int noutput_items,
                gr_vector_int&,
                gr_vector_const_void_star&,
                gr_vector_void_star& output_items) override
    {
        if (before_call)
            before_call();
        if (d_sent == d_items)
            return WORK_DONE;
        const int n = int(std::min<int64_t>(noutput_items, d_items - d_sent));
        if (d_value)
            dynamic_cast<emulated::stream&>(work_stream())
                .run([out = output_items[0], value = d_value, bytes = n * d_size] {
                    std::memset(out, value ^ emulated::mask, bytes);
                });
        d_sent += n;
        largest_call = std::max(largest_call, n);
        return n;
    }

    int largest_call = 0;              // items
    std::function<void()> before_call; // to be set before the flowgraph runs
    std::atomic<bool> stopped{ false };

private:
    const size_t d_size;
    const int64_t d_items;
    const uint8_t d_value;
    int64_t d_sent = 0;
};

//! Settings of the emulated device, as they were before at the end of its life.
class emulation
{
public:
    emulation()
    {
        auto& s = emulated::current_settings();
        d_delay = s.delay;
        d_clear_delay = s.clear_delay;
        d_copy_delay = s.copy_delay;
        d_ring = s.default_ring;
        d_granularity = s.granularity;
        d_memory = s.memory_size;
        d_peers = s.peers;
        d_reluctant = s.reluctant;
        d_before_reluctant_work = s.before_reluctant_work;
    }
    ~emulation()
    {
        auto& s = emulated::current_settings();
        s.delay = d_delay;
        s.clear_delay = d_clear_delay;
        s.copy_delay = d_copy_delay;
        s.default_ring = d_ring;
        s.granularity = d_granularity;
        s.memory_size = d_memory;
        s.peers = d_peers;
        s.reluctant = d_reluctant;
        s.before_reluctant_work = d_before_reluctant_work;
    }

private:
    int d_delay, d_clear_delay, d_copy_delay;
    size_t d_ring, d_granularity, d_memory;
    bool d_peers, d_reluctant;
    std::function<void()> d_before_reluctant_work;
};

template <class block, class... arguments>
std::shared_ptr<block> make(arguments&&... a)
{
    return gnuradio::make_block_sptr<block>(std::forward<arguments>(a)...);
}

} // namespace qa

#endif /* INCLUDED_APERTURE_TESTS_CPP_QA_DEVICE_H */
