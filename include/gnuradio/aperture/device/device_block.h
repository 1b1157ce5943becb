/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DEVICE_DEVICE_BLOCK_H
#define INCLUDED_APERTURE_DEVICE_DEVICE_BLOCK_H

#include <gnuradio/aperture/device/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/device/device.h>
#include <gnuradio/io_signature.h>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture {

/*!
 * Makes the io_signature of a block on a device. GNU Radio looks for the type of an input
 * in the output signature: that of a sink is signature_on(d, 0, size).
 */
APERTURE_DEVICE_API gr::io_signature::sptr
signature_on(const device& d, int streams, int item_size);
//! The same, with an item size for each port.
APERTURE_DEVICE_API gr::io_signature::sptr
signature_on(const device& d, const std::vector<int>& item_sizes);
//! The same, for `least` to `most` ports: those behind `least` may stay unconnected.
APERTURE_DEVICE_API gr::io_signature::sptr
signature_on(const device& d, int least, int most, int item_size);

//! The rules that find a block without progress, and the error that its author gets.
struct call_rules {
    //! The function that does the work of a call.
    std::string function = "process()";
    std::string remedy =
        "It must consume() what it has read, and return WORK_DONE where there is no more";
    //! The longest time, in seconds, in which calls may consume and produce nothing
    //! although no more input can come.
    double most_idle = 10;
};

/*!
 * Base of blocks whose kernels run on a device: it has a stream, and keeps its work in
 * order with that of the blocks around it. A derived block makes its io_signatures with
 * signature_on(), gives its work to work_stream() in process(), and is the same on every
 * device. It derives from gr::block virtually, and so names it first among what its
 * constructor initialises:
 *
 *     class twice : public gr::aperture::device_block { ...
 *     twice(const device& d)
 *         : gr::block("twice", signature_on(d, 1, 4), signature_on(d, 1, 4)),
 *           device_block(d)
 *
 * Items stay on the device between two blocks of one device; where the neighbour is a
 * block on the host, whatever it is, items are copied. On the CPU this is an ordinary
 * block: process() is its general_work(), but for errors.
 *
 * GNU Radio's set_history(), set_output_multiple(), set_relative_rate(), forecast(), tags
 * and message ports are used as in any gr::block.
 */
class APERTURE_DEVICE_API device_block : virtual public block_on_device
{
public:
    ~device_block() override;

    bool start() override;
    bool stop() override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) final;

    //! Returns whether process() gets pointers of a device's own memory; not on the CPU.
    bool on_device() const { return bool(d_device.own_memory()); }
    //! Returns the device of work_stream().
    const device& runs_on() const { return d_device; }
    //! Returns where the items of a port are.
    const device& input_device(int port) const;
    const device& output_device(int port) const;

    //! Returns the least size of the rings of the block's ports, in bytes.
    size_t minimum_ring() const;
    //! Returns whether a call must find several items in a row. Calls of other blocks may
    //! be cut short where a ring is not mapped twice.
    virtual bool reads_windows() const { return history() > 1 || output_multiple() > 1; }
    //! Returns whether a call must have room for several items in a row. It is false for
    //! a block that leaves an item unfinished to the next call, as that call must find it
    //! at the same place.
    virtual bool writes_windows() const { return output_multiple() > 1; }

    /*!
     * Returns after how many items all outputs repeat themselves, from the first item of
     * a run on; 0: they do not. A ring that holds whole periods, as rings do where that
     * is not wastefully large, is written once: see outputs_held().
     */
    virtual int64_t period() const { return 0; }

    // block_on_device
    std::string device_name() const final { return d_device.name(); }
    std::string device_description() const final { return d_device.description(); }
    std::string error() const final;
    void set_latency(double seconds) final;
    double latency() const final;

    //! Returns whether the thread is that of a block on a device, between start and stop.
    static bool is_thread_of_one();

protected:
    //! \throws std::invalid_argument for ports that were not made by signature_on()
    explicit device_block(const device& d);

    /*!
     * Makes a block whose ports are on several devices, or on another one than its work:
     * it moves items between them, with the streams of the ports. Kernels on each of its
     * devices can access the items of all ports, where the devices can access each
     * other's memory at all.
     * \param d device of work_stream()
     * \param inputs, outputs device of each port; further ports are on the last one;
     * none: d
     * \throws std::invalid_argument if some are on the CPU and others are not
     */
    device_block(const device& d,
                 const std::vector<device>& inputs,
                 const std::vector<device>& outputs);

    //! Returns how many items of each input always stay in its ring, and are no new work.
    virtual int64_t kept_items() const { return 0; }

    //! Gives work to the stream in start(), before that of the first call.
    virtual void before_first_call() {}

    /*!
     * Does the work of general_work(). The pointers are of memory of the ports' devices,
     * which only work of the ports' streams may access, and that only until the items are
     * consumed or produced. It gives its work to the streams and returns without waiting
     * for it. An exception ends the flowgraph: see fail().
     */
    virtual int process(int noutput_items,
                        gr_vector_int& ninput_items,
                        gr_vector_const_void_star& input_items,
                        gr_vector_void_star& output_items) = 0;

    //! Returns the stream of runs_on(), which is that of all ports of this device.
    stream& work_stream();
    //! Returns the stream of a port's device: work on the port's items goes to it.
    stream& input_stream(int port);
    stream& output_stream(int port);

    //! Returns, in process(), whether the next items of all outputs are in their rings
    //! already, and are not to be written again, as readers may be at them.
    bool outputs_held() const;

    /*!
     * Marks the work so far as the last that reads the inputs, and calls consume() of
     * gr::block.
     * \throws std::runtime_error for more items than the call was given or
     * has room for, as after a process() that returns too many
     */
    void consume(int port, int items);
    void consume_each(int items);
    void produce(int port, int items);

    void set_call_rules(const call_rules& rules);

    //! Logs an error that ends the flowgraph: process() is not called again. The first of
    //! several errors counts. \returns false
    bool fail(const std::string& what);
    bool failed() const { return !error().empty(); }

private:
    class edges;

    const device d_device;
    const std::unique_ptr<edges> d_edges;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEVICE_DEVICE_BLOCK_H */
