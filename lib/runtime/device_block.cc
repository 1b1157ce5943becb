/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "runtime/backend.h"
#include "runtime/call_check.h"
#include "runtime/device_buffer.h"
#include "runtime/fault.h"
#include "runtime/host_wait.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_double_mapped.h>
#include <gnuradio/buffer_reader.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

namespace gr::aperture {

namespace {

//! Calls of a block whose work may be unfinished.
constexpr size_t calls_ahead = 4;

thread_local bool thread_of_device_block = false;

gr::buffer_type buffer_type_on(const device& d)
{
    return d.own_memory() ? device_buffer::type : gr::buffer_double_mapped::type;
}

/*!
 * Errors that were logged since a device block was started last: a GPU that fails does so
 * for all blocks that use it, and one of them reports it.
 */
class said_errors
{
public:
    static said_errors& get()
    {
        static auto& all = *new said_errors; // threads may outlive what is static
        return all;
    }
    void forget()
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_said.clear();
    }
    //! Adds an error. \returns whether it is new
    bool add(const std::string& what)
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        return d_said.insert(what).second;
    }

private:
    std::mutex d_mutex;
    std::set<std::string> d_said;
};

/*!
 * The signatures that signature_on() has made: on the CPU they look like all others, and
 * a block without them is to fail before it comes to a GPU.
 */
class made_signatures
{
public:
    static made_signatures& get()
    {
        static auto& all = *new made_signatures; // blocks may outlive what is static
        return all;
    }
    gr::io_signature::sptr add(gr::io_signature::sptr made)
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        for (auto i = d_made.begin(); i != d_made.end();)
            i = i->expired() ? d_made.erase(i) : std::next(i);
        d_made.insert(made);
        return made;
    }
    bool has(const gr::io_signature::sptr& signature)
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        return d_made.count(signature) > 0;
    }

private:
    std::mutex d_mutex;
    std::set<std::weak_ptr<gr::io_signature>, std::owner_less<>> d_made;
};

//! \throws std::invalid_argument for a signature that was made by another function
void check_signature(const gr::block& block,
                     const gr::io_signature::sptr& signature,
                     const std::string& side,
                     const device& d)
{
    const auto type = signature->stream_buffer_type(0);
    if (made_signatures::get().has(signature) && type == buffer_type_on(d))
        return;
    const int ports = signature->max_streams();
    // GNU Radio 3.11 knows no size of items where there are no ports
    const int bytes = ports == 0 ? 0 : signature->sizeof_stream_item(0);
    throw std::invalid_argument(
        block.name() + ": the " + side +
        " signature was not made by signature_on() for " + d.name() +
        ", so that its items would be in the memory of the host; it must be "
        "signature_on(device, " +
        std::to_string(ports) + ", " + (bytes > 0 ? std::to_string(bytes) : "size") +
        ")" + (ports == 0 ? ", also of a sink, which has no outputs" : ""));
}

} // namespace

gr::io_signature::sptr signature_on(const device& d, int streams, int item_size)
{
    return signature_on(d, streams, streams, item_size);
}

gr::io_signature::sptr signature_on(const device& d, int least, int most, int item_size)
{
    return made_signatures::get().add(
        gr::io_signature::make(least, most, item_size, buffer_type_on(d)));
}

gr::io_signature::sptr signature_on(const device& d, const std::vector<int>& item_sizes)
{
    const int streams = int(item_sizes.size());
    return made_signatures::get().add(gr::io_signature::makev(
        streams,
        streams,
        item_sizes,
        gr::gr_vector_buffer_type(item_sizes.size(), buffer_type_on(d))));
}

/*!
 * The rings at a block's ports, its streams, and the order of its calls.
 */
class device_block::edges
{
public:
    edges(device_block& block,
          const std::vector<device>& inputs,
          const std::vector<device>& outputs)
        : check(block), d_block(block), d_input_devices(inputs), d_output_devices(outputs)
    {
        make_stream(block.runs_on());
        for (const auto* ports : { &inputs, &outputs })
            for (const auto& d : *ports)
                make_stream(d);
        // gr::block is there before all that derives from it
        const auto in = block.input_signature(), out = block.output_signature();
        if (in->max_streams() != 0)
            check_signature(block, in, "input", input_device(0));
        // GNU Radio looks for the buffers of inputs in it, too
        if (in->max_streams() != 0 || out->max_streams() != 0)
            check_signature(block, out, "output", output_device(0));
    }

    const device& input_device(int port) const { return of(d_input_devices, port); }
    const device& output_device(int port) const { return of(d_output_devices, port); }

    //! Returns the index of a device's stream in d_streams.
    size_t stream_on(const device& d) const
    {
        size_t i = 0;
        while (i < d_streams.size() && d_streams[i].first != d)
            i++;
        return i;
    }
    //! Returns a stream by its index; the first one is work_stream().
    stream& stream_at(size_t i) const { return *d_streams[i].second; }

    void start();
    void stop();
    //! \returns false if a writer has failed, which reports it itself
    bool begin_call(int& noutput_items, gr_vector_int& ninput_items);
    //! Sets where the items of the inputs are: GNU Radio knows one place of an edge only.
    void point(gr_vector_const_void_star& input_items) const
    {
        for (size_t i = 0; i < d_inputs.size(); i++)
            if (d_inputs[i].place > 0)
                input_items[i] =
                    d_inputs[i].buffer->pointer(*d_inputs[i].reader, d_inputs[i].place);
    }
    //! Ends the reading of the inputs by this call.
    void release_inputs();
    /*!
     * Lets a call on little input wait for more, until the device is idle or latency()
     * has passed: while the device works on earlier calls it would not be done any
     * sooner, and many small calls keep a GPU from its work.
     * \returns whether there is to be no call now
     */
    bool gathers(const gr_vector_int& ninput_items);

    call_check check;
    //! True if the rings hold the outputs already, in the present call.
    bool outputs_held = false;
    std::atomic<double> latency{ 0.1 };
    std::string error() const
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_error;
    }
    //! Keeps the first error. \returns whether this is it
    bool set_error(const std::string& what)
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        if (!d_error.empty())
            return false;
        d_error = what;
        return true;
    }
    void clear_error()
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_error.clear();
    }

private:
    struct port {
        std::shared_ptr<device_buffer> buffer;
        const gr::buffer_reader* reader; // nullptr for an output
        size_t stream;                   // index of its device's stream in d_streams
        size_t place;                    // index of its device among those of the edge
        int items;                       // items of the present call
    };
    //! Events at the end of a call's work on each stream.
    using call = std::vector<event_sptr>;

    const device& of(const std::vector<device>& ports, int port) const
    {
        return ports.empty() ? d_block.runs_on()
                             : ports[std::min<size_t>(port, ports.size() - 1)];
    }

    void make_stream(const device& d)
    {
        if (bool(d.own_memory()) != d_block.on_device())
            throw std::invalid_argument(
                "devices of ports: " + d.name() + " is not allowed beside " +
                d_block.runs_on().name() +
                ": either all are the CPU, or all have memory of their own");
        if (stream_on(d) == d_streams.size())
            d_streams.emplace_back(d, d.make_stream());
    }

    void attach(std::vector<port>& ports,
                const std::string& name,
                const gr::buffer_sptr& b,
                const gr::buffer_reader* reader,
                const device& d);
    bool last_call_is_done() const
    {
        const auto& last = d_calls.back();
        return std::all_of(last.begin(), last.end(), [](const event_sptr& e) {
            return !e || e->done();
        });
    }

    device_block& d_block;
    const std::vector<device> d_input_devices, d_output_devices;
    std::vector<std::pair<device, std::shared_ptr<stream>>>
        d_streams;                         // first: work_stream()
    std::vector<port> d_inputs, d_outputs; // attached ports
    std::deque<call> d_calls;              // the last calls
    bool d_reading = false;                // release_inputs() is still to come
    //! Time since which a call waits for more input.
    std::optional<std::chrono::steady_clock::time_point> d_gathering;
    mutable std::mutex d_mutex; // guards the error
    std::string d_error;
};

void device_block::edges::attach(std::vector<port>& ports,
                                 const std::string& name,
                                 const gr::buffer_sptr& b,
                                 const gr::buffer_reader* reader,
                                 const device& d)
{
    auto buffer = std::dynamic_pointer_cast<device_buffer>(b);
    if (!buffer)
        throw std::runtime_error(
            name + ": its data is in host memory, because " + b->link()->identifier() +
            " was connected to it while the flowgraph was running; stop the "
            "flowgraph and start it again instead of lock() and unlock()");
    const size_t own = stream_on(d);
    size_t place = 0;
    try {
        place = buffer->attach(d, reader ? nullptr : d_streams[own].second);
    } catch (const std::exception& e) {
        throw std::runtime_error(name + ": " + e.what());
    }
    ports.push_back({ buffer, reader, own, place, 0 });
}

void device_block::edges::start()
{
    d_calls.clear();
    d_gathering.reset();
    if (!d_block.on_device())
        return;
    d_block.runs_on().make_current();
    const auto detail = d_block.detail();
    for (int i = 0; i < detail->ninputs(); i++)
        attach(d_inputs,
               "input " + std::to_string(i),
               detail->input(i)->buffer(),
               detail->input(i).get(),
               input_device(i));
    for (int i = 0; i < detail->noutputs(); i++)
        attach(d_outputs,
               "output " + std::to_string(i),
               detail->output(i),
               nullptr,
               output_device(i));
    if (d_streams.size() == 1)
        return;
    for (const auto* ports : { &d_inputs, &d_outputs })
        for (const auto& p : *ports)
            for (const auto& s : d_streams)
                p.buffer->share(p.place, s.first);
}

void device_block::edges::stop()
{
    if (!d_block.on_device())
        return;
    const auto report = [this](const std::string& e) {
        if (!e.empty())
            d_block.fail(e);
    };
    for (const auto& s : d_streams) {
        try {
            if (!left_out("stop waits for the stream"))
                s.second->synchronize();
        } catch (const std::exception& e) {
            report(e.what());
        }
    }
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
    d_calls.clear();
}

bool device_block::edges::begin_call(int& noutput_items, gr_vector_int& ninput_items)
{
    if (d_calls.size() >= calls_ahead) {
        if (!left_out("own call before"))
            for (const auto& e : d_calls.front())
                host_wait(e);
        d_calls.pop_front();
    }
    for (size_t i = 0; i < d_inputs.size(); i++) {
        auto& p = d_inputs[i];
        p.items = ninput_items[i] =
            p.buffer->contiguous_for_read(*p.reader, p.place, ninput_items[i]);
        if (!p.buffer->begin_read(stream_at(p.stream), *p.reader, p.place, p.items))
            return false;
    }
    for (auto& p : d_outputs)
        noutput_items = p.buffer->contiguous_for_write(noutput_items);
    outputs_held = !d_outputs.empty();
    for (auto& p : d_outputs)
        outputs_held = outputs_held && p.buffer->holds_next();
    for (auto& p : d_outputs)
        if (outputs_held)
            p.buffer->keep();
        else
            p.buffer->begin_write(stream_at(p.stream), noutput_items);
    d_reading = true;
    return true;
}

void device_block::edges::release_inputs()
{
    if (!d_reading)
        return;
    d_reading = false;
    call done;
    for (const auto& s : d_streams)
        done.push_back(s.second->record());
    for (auto& p : d_inputs)
        p.buffer->end_read(*p.reader, p.place, p.items, done[p.stream]);
    d_calls.push_back(std::move(done));
}

bool device_block::edges::gathers(const gr_vector_int& ninput_items)
{
    bool little = !d_inputs.empty(); // GNU Radio ends a source that has nothing
    const int64_t kept = d_inputs.empty() ? 0 : d_block.kept_items();
    for (size_t i = 0; i < d_inputs.size(); i++)
        little =
            little && ninput_items[i] - kept < int64_t(d_inputs[i].buffer->bufsize() / 8);
    if (!little || d_calls.empty() || last_call_is_done()) {
        d_gathering.reset();
        return false;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!d_gathering)
        d_gathering = now;
    if (std::chrono::duration<double>(now - *d_gathering).count() >= latency) {
        d_gathering.reset();
        return false;
    }
    // The scheduler calls again at once, with the items that have come by then.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    return true;
}

bool device_block::is_thread_of_one() { return thread_of_device_block; }

device_block::device_block(const device& d) : device_block(d, {}, {}) {}

device_block::device_block(const device& d,
                           const std::vector<device>& inputs,
                           const std::vector<device>& outputs)
    : d_device(d), d_edges(std::make_unique<edges>(*this, inputs, outputs))
{
}

device_block::~device_block() = default;

const device& device_block::input_device(int port) const
{
    return d_edges->input_device(port);
}
const device& device_block::output_device(int port) const
{
    return d_edges->output_device(port);
}

stream& device_block::work_stream() { return d_edges->stream_at(0); }
stream& device_block::input_stream(int port)
{
    return d_edges->stream_at(d_edges->stream_on(input_device(port)));
}
stream& device_block::output_stream(int port)
{
    return d_edges->stream_at(d_edges->stream_on(output_device(port)));
}

bool device_block::outputs_held() const { return d_edges->outputs_held; }

size_t device_block::minimum_ring() const
{
    return on_device() ? d_device.own_memory()->default_ring() : 0;
}

bool device_block::start()
{
    said_errors::get().forget();
    d_edges->clear_error();
    d_edges->check.start();
    // GNU Radio starts all blocks, in their own threads, before the first call
    thread_of_device_block = on_device();
    try {
        d_edges->start();
        before_first_call();
    } catch (const std::exception& e) { // out of start() it would hang the flowgraph
        fail(e.what());
    }
    if (on_device())
        working_thread::begin();
    return block::start();
}

bool device_block::stop()
{
    if (on_device()) {
        working_thread::end();
        thread_of_device_block = false;
    }
    d_edges->stop();
    return block::stop();
}

int device_block::general_work(int noutput_items,
                               gr_vector_int& ninput_items,
                               gr_vector_const_void_star& input_items,
                               gr_vector_void_star& output_items)
{
    if (failed())
        return WORK_DONE;
    try { // an exception that leaves this would hang the flowgraph
        if (on_device()) {
            if (d_edges->gathers(ninput_items))
                return 0;
            if (!d_edges->begin_call(noutput_items, ninput_items))
                return WORK_DONE;
            d_edges->point(input_items);
        }
        d_edges->check.begin(noutput_items, ninput_items);
        const int done = process(noutput_items, ninput_items, input_items, output_items);
        if (on_device())
            d_edges->release_inputs();
        if (failed())
            return WORK_DONE;
        if (const auto warning = d_edges->check.end(done); !warning.empty())
            d_logger->error("{:s}", warning);
        return done;
    } catch (const std::exception& e) {
        fail(e.what());
        return WORK_DONE;
    }
}

void device_block::set_latency(double seconds)
{
    // false for NaN, too
    if (!(seconds >= 0 && seconds <= 10))
        throw std::invalid_argument("latency: " + text_of(seconds) +
                                    " is not allowed: it must be from 0 to 10 seconds");
    d_edges->latency = seconds;
}

double device_block::latency() const { return d_edges->latency; }

void device_block::consume(int port, int items)
{
    d_edges->check.consume(port, items);
    d_edges->release_inputs();
    block::consume(port, items);
}

void device_block::consume_each(int items)
{
    d_edges->check.consume_each(items);
    d_edges->release_inputs();
    block::consume_each(items);
}

void device_block::produce(int port, int items)
{
    d_edges->check.produce(port, items);
    block::produce(port, items);
}

void device_block::set_call_rules(const call_rules& rules)
{
    d_edges->check.rules = rules;
}

bool device_block::fail(const std::string& what)
{
    if (d_edges->set_error(what)) {
        if (said_errors::get().add(what))
            d_logger->error("{:s}", what);
        else
            d_logger->debug("{:s}", what);
    }
    return false;
}

std::string device_block::error() const { return d_edges->error(); }

} // namespace gr::aperture
