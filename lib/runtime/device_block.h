/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_DEVICE_BLOCK_H
#define INCLUDED_APERTURE_RUNTIME_DEVICE_BLOCK_H

#include "runtime/device.h"
#include "runtime/device_buffer.h"
#include <gnuradio/aperture/block_on_device.h>
#include <gnuradio/io_signature.h>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gr::aperture {

/*!
 * io_signature of a block on a device. GNU Radio looks for the type of an input in the
 * output signature: that of a sink is signature_on(d, 0, size).
 */
gr::io_signature::sptr signature_on(const device& d, int streams, int item_size);

/*!
 * What blocks share whose kernels run on a device: a stream, and all that keeps its work
 * in order with that of the blocks around it. A derived block makes its io_signatures
 * with signature_on(), gives its work to work_stream() in process(), and is the same on
 * every device.
 *
 * On the CPU it is an ordinary block: process() is its general_work(), but for errors.
 */
class device_block : virtual public block_on_device
{
public:
    bool start() override;
    bool stop() override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) final;

    //! Not the CPU: the pointers of process() are of the device's memory.
    bool on_device() const { return bool(d_device.own_memory()); }
    const device& runs_on() const { return d_device; }
    //! Bytes that a ring of the block's ports has at least.
    size_t minimum_ring() const;
    //! A call must find several items in a row. Calls of other blocks may be cut short
    //! where a ring is not mapped twice.
    bool reads_windows() const { return history() > 1 || output_multiple() > 1; }
    //! A call must have room for several items in a row. Not for a block that leaves an
    //! item unfinished to the next call, as that one must find it at the same place.
    virtual bool writes_windows() const { return output_multiple() > 1; }

    /*!
     * Items after which those of all outputs come again, from the first one of a run on;
     * 0: they do not. A ring that holds whole periods is written once: see
     * outputs_held(). Rings do where that is not wastefully large.
     */
    virtual int64_t period() const { return 0; }

    // block_on_device
    std::string device_name() const final { return d_device.name(); }
    std::string device_description() const final;
    std::string error() const final;
    void set_latency(double seconds) final;
    double latency() const final { return d_latency; }

    //! Whether the calling thread is that of a block on a device, between start and stop.
    static bool is_thread_of_one();

protected:
    explicit device_block(const device& d);

    //! Items of each input that stay in its ring whatever is done, and are no new work.
    virtual int64_t kept_items() const { return 0; }

    //! In start(): work that comes before that of the first call.
    virtual void before_first_call() {}

    //! As general_work(). An exception ends the flowgraph: see fail().
    virtual int process(int noutput_items,
                        gr_vector_int& ninput_items,
                        gr_vector_const_void_star& input_items,
                        gr_vector_void_star& output_items) = 0;

    stream& work_stream() { return *d_stream; }

    //! In process(): the next items of all outputs are in their rings already, and not to
    //! be written again; readers may be at them.
    bool outputs_held() const { return d_outputs_held; }

    //! gr::block's, after the work so far was made known as the last that reads the
    //! inputs.
    void consume(int port, int items);
    void consume_each(int items);

    //! Logs an error that ends the flowgraph: process() is not called again. Of several,
    //! the first one counts. \returns false
    bool fail(const std::string& what);
    bool failed() const { return !error().empty(); }

private:
    struct port {
        std::shared_ptr<device_buffer> buffer;
        const gr::buffer_reader* reader; // nullptr for an output
        int items;                       // of the present call
    };

    void attach_all();
    void detach_all();
    /*!
     * A call on little input while the device still works on earlier ones would not be
     * done any sooner, and calls that are many and small keep a GPU from its work: such a
     * call waits for more input, until the device is idle or latency() has passed.
     * \returns whether there is to be no call now
     */
    bool gathers(const gr_vector_int& ninput_items);
    //! From here on the inputs are read no more by this call.
    void release_inputs();

    const device d_device;
    const std::shared_ptr<stream> d_stream;
    std::vector<port> d_inputs, d_outputs; // what is attached
    std::deque<event_sptr> d_calls;        // the ends of the last calls
    bool d_outputs_held = false;           // by their rings, in the present call
    bool d_reading = false;                // release_inputs() is still to come
    std::atomic<double> d_latency{ 0.1 };
    //! since when a call waits for more input
    std::optional<std::chrono::steady_clock::time_point> d_gathering;
    mutable std::mutex d_mutex; // of the error
    std::string d_error;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_DEVICE_BLOCK_H */
