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
 * io_signature of a block on a device. GNU Radio looks for the type of an input in the
 * output signature: that of a sink is signature_on(d, 0, size).
 */
APERTURE_DEVICE_API gr::io_signature::sptr
signature_on(const device& d, int streams, int item_size);
//! Likewise, with an item size for each port.
APERTURE_DEVICE_API gr::io_signature::sptr
signature_on(const device& d, const std::vector<int>& item_sizes);
//! Of `least` to `most` ports: those behind the first `least` may stay unconnected.
APERTURE_DEVICE_API gr::io_signature::sptr
signature_on(const device& d, int least, int most, int item_size);

//! By what a block that gets nowhere is found, and what it is told.
struct call_rules {
    //! That does the work of a call.
    std::string function = "process()";
    std::string remedy =
        "It must consume() what it has read, and return WORK_DONE where there is no more";
    //! Seconds in which calls may take and make nothing although nothing else can come.
    double most_idle = 10;
};

/*!
 * What blocks share whose kernels run on a device: a stream, and all that keeps its work
 * in order with that of the blocks around it. A derived block makes its io_signatures
 * with signature_on(), gives its work to work_stream() in process(), and is the same on
 * every device. It derives from gr::block virtually, and so names it first among what its
 * constructor initialises:
 *
 *     class twice : public gr::aperture::device_block { ...
 *     twice(const device& d)
 *         : gr::block("twice", signature_on(d, 1, 4), signature_on(d, 1, 4)),
 *           device_block(d)
 *
 * What neighbours read and write is on the device, and stays there between two blocks of
 * one device; where the neighbour is a block on the host, whatever it is, items are
 * copied. On the CPU it is an ordinary block: process() is its general_work(), but for
 * errors.
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

    //! Not the CPU: the pointers of process() are of the device's memory.
    bool on_device() const { return bool(d_device.own_memory()); }
    //! The device of work_stream().
    const device& runs_on() const { return d_device; }
    //! Where the items of a port are.
    const device& input_device(int port) const;
    const device& output_device(int port) const;

    //! Bytes that a ring of the block's ports has at least.
    size_t minimum_ring() const;
    //! A call must find several items in a row. Calls of other blocks may be cut short
    //! where a ring is not mapped twice.
    virtual bool reads_windows() const { return history() > 1 || output_multiple() > 1; }
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
    std::string device_description() const final { return d_device.description(); }
    std::string error() const final;
    void set_latency(double seconds) final;
    double latency() const final;

    //! Whether the calling thread is that of a block on a device, between start and stop.
    static bool is_thread_of_one();

protected:
    //! \throws std::invalid_argument for ports that were not made by signature_on()
    explicit device_block(const device& d);

    /*!
     * A block whose ports are on several devices, or on another one than its work: it
     * moves items between them, with the streams of the ports. Work of each of its
     * devices reaches the items of all ports, where the devices reach each other at all.
     * \param d of work_stream()
     * \param inputs, outputs of each port; of further ports the last one holds; none: d
     * \throws std::invalid_argument if some are on the CPU and others are not
     */
    device_block(const device& d,
                 const std::vector<device>& inputs,
                 const std::vector<device>& outputs);

    //! Items of each input that stay in its ring whatever is done, and are no new work.
    virtual int64_t kept_items() const { return 0; }

    //! In start(): work that comes before that of the first call.
    virtual void before_first_call() {}

    /*!
     * As general_work(). The pointers are of memory of the ports' devices, which only
     * work of the ports' streams may touch, and that only until the items are consumed or
     * produced. It gives its work to the streams and returns without waiting for it. An
     * exception ends the flowgraph: see fail().
     */
    virtual int process(int noutput_items,
                        gr_vector_int& ninput_items,
                        gr_vector_const_void_star& input_items,
                        gr_vector_void_star& output_items) = 0;

    //! The stream of runs_on(): that of all ports of this device.
    stream& work_stream();
    //! That of a port's device: work that reads, or writes, the port's items goes to it.
    stream& input_stream(int port);
    stream& output_stream(int port);

    //! In process(): the next items of all outputs are in their rings already, and not to
    //! be written again; readers may be at them.
    bool outputs_held() const;

    /*!
     * gr::block's, after the work so far was made known as the last that reads the
     * inputs. \throws std::runtime_error for more items than the call was given or has
     * room for, as after a process() that returns too many
     */
    void consume(int port, int items);
    void consume_each(int items);
    void produce(int port, int items);

    void set_call_rules(const call_rules& rules);

    //! Logs an error that ends the flowgraph: process() is not called again. Of several,
    //! the first one counts. \returns false
    bool fail(const std::string& what);
    bool failed() const { return !error().empty(); }

private:
    class edges;

    const device d_device;
    const std::unique_ptr<edges> d_edges;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEVICE_DEVICE_BLOCK_H */
