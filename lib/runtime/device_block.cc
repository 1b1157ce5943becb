/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/number_text.h"
#include "runtime/device_block.h"
#include "runtime/fault.h"
#include "runtime/host_wait.h"
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_double_mapped.h>
#include <gnuradio/buffer_reader.h>
#include <algorithm>
#include <stdexcept>
#include <thread>

namespace gr::aperture {

namespace {

//! Calls of a block whose work may be unfinished.
constexpr size_t calls_ahead = 4;

thread_local bool thread_of_device_block = false;

} // namespace

bool device_block::is_thread_of_one() { return thread_of_device_block; }

device_block::device_block(const device& d) : d_device(d), d_stream(d.make_stream()) {}

gr::io_signature::sptr signature_on(const device& d, int streams, int item_size)
{
    return gr::io_signature::make(streams,
                                  streams,
                                  item_size,
                                  d.own_memory() ? device_buffer::type
                                                 : gr::buffer_double_mapped::type);
}

size_t device_block::minimum_ring() const
{
    return on_device() ? d_device.own_memory()->default_ring() : 0;
}

bool device_block::start()
{
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_error.clear();
    }
    // GNU Radio starts blocks in their own threads, all of them before the first is
    // called
    thread_of_device_block = on_device();
    d_calls.clear();
    d_gathering.reset();
    try {
        if (on_device()) {
            d_device.own_memory()->make_current();
            attach_all();
        }
        before_first_call();
    } catch (const std::exception& e) { // out of start() it would hang the flowgraph
        fail(e.what());
    }
    if (on_device())
        working_thread::begin();
    return block::start();
}

void device_block::attach_all()
{
    auto attach = [this](const char* what,
                         int number,
                         const gr::buffer_sptr& b,
                         const gr::buffer_reader* reader) {
        const std::string name = what + std::string(" ") + std::to_string(number);
        auto buffer = std::dynamic_pointer_cast<device_buffer>(b);
        if (!buffer)
            throw std::runtime_error(
                name + ": its data is in host memory, because " +
                b->link()->identifier() +
                " was connected to it while the flowgraph was running; stop the "
                "flowgraph and start it again instead of lock() and unlock()");
        try {
            buffer->attach(*this, reader ? nullptr : d_stream);
        } catch (const std::exception& e) {
            throw std::runtime_error(name + ": " + e.what());
        }
        (reader ? d_inputs : d_outputs).push_back({ buffer, reader, 0 });
    };
    for (int i = 0; i < detail()->ninputs(); i++)
        attach("input", i, detail()->input(i)->buffer(), detail()->input(i).get());
    for (int i = 0; i < detail()->noutputs(); i++)
        attach("output", i, detail()->output(i), nullptr);
}

bool device_block::stop()
{
    if (on_device()) {
        working_thread::end();
        thread_of_device_block = false;
        try {
            if (!left_out("stop waits for the stream"))
                d_stream->synchronize();
        } catch (const std::exception& e) {
            fail(e.what());
        }
        detach_all();
        d_calls.clear();
    }
    return block::stop();
}

void device_block::detach_all()
{
    const auto report = [this](const std::string& e) {
        if (!e.empty())
            fail(e);
    };
    for (auto& p : d_inputs) {
        report(p.buffer->detach());
        report(p.buffer->error_for_readers());
    }
    for (auto& p : d_outputs) {
        p.buffer->detach();
        report(p.buffer->error());
    }
    d_inputs.clear();
    d_outputs.clear();
}

int device_block::general_work(int noutput_items,
                               gr_vector_int& ninput_items,
                               gr_vector_const_void_star& input_items,
                               gr_vector_void_star& output_items)
{
    if (failed())
        return WORK_DONE;
    try { // an exception that leaves this would hang the flowgraph
        if (!on_device())
            return process(noutput_items, ninput_items, input_items, output_items);
        if (gathers(ninput_items))
            return 0;
        if (d_calls.size() >= calls_ahead) {
            if (!left_out("own call before"))
                host_wait(d_calls.front());
            d_calls.pop_front();
        }
        for (size_t i = 0; i < d_inputs.size(); i++) {
            auto& p = d_inputs[i];
            p.items = ninput_items[i] =
                p.buffer->contiguous_for_read(*p.reader, ninput_items[i]);
            if (!p.buffer->begin_read(*d_stream, *p.reader, p.items))
                return WORK_DONE;
        }
        for (auto& p : d_outputs)
            noutput_items = p.buffer->contiguous_for_write(noutput_items);
        d_outputs_held = !d_outputs.empty();
        for (auto& p : d_outputs)
            d_outputs_held = d_outputs_held && p.buffer->holds_next();
        for (auto& p : d_outputs)
            if (d_outputs_held)
                p.buffer->keep();
            else
                p.buffer->begin_write(*d_stream, noutput_items);
        d_reading = true;
        const int done = process(noutput_items, ninput_items, input_items, output_items);
        release_inputs();
        return failed() ? int(WORK_DONE) : done;
    } catch (const std::exception& e) {
        fail(e.what());
        return WORK_DONE;
    }
}

void device_block::set_latency(double seconds)
{
    // also false for NaN
    if (!(seconds >= 0 && seconds <= 10))
        throw std::invalid_argument("latency: " + text_of(seconds) +
                                    " is not allowed: it must be from 0 to 10 seconds");
    d_latency = seconds;
}

bool device_block::gathers(const gr_vector_int& ninput_items)
{
    bool little = !d_inputs.empty(); // GNU Radio ends a source that has nothing
    const int64_t kept = d_inputs.empty() ? 0 : kept_items();
    for (size_t i = 0; i < d_inputs.size(); i++)
        little =
            little && ninput_items[i] - kept < int64_t(d_inputs[i].buffer->bufsize() / 8);
    if (!little || d_calls.empty() || d_calls.back()->done()) {
        d_gathering.reset();
        return false;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!d_gathering)
        d_gathering = now;
    if (std::chrono::duration<double>(now - *d_gathering).count() >= d_latency) {
        d_gathering.reset();
        return false;
    }
    // The scheduler calls again at once, and says what has come by then.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    return true;
}

void device_block::release_inputs()
{
    if (!d_reading)
        return;
    d_reading = false;
    const event_sptr done = d_stream->record();
    for (auto& p : d_inputs)
        p.buffer->end_read(*p.reader, p.items, done);
    d_calls.push_back(done);
}

void device_block::consume(int port, int items)
{
    release_inputs();
    block::consume(port, items);
}

void device_block::consume_each(int items)
{
    release_inputs();
    block::consume_each(items);
}

bool device_block::fail(const std::string& what)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    if (d_error.empty()) {
        d_error = what;
        d_logger->error("{:s}", what);
    }
    return false;
}

std::string device_block::device_description() const
{
    return on_device() ? d_device.own_memory()->description() : "";
}

std::string device_block::error() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_error;
}

} // namespace gr::aperture
