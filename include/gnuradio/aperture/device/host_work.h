/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DEVICE_HOST_WORK_H
#define INCLUDED_APERTURE_DEVICE_HOST_WORK_H

#include <gnuradio/aperture/device/api.h>
#include <gnuradio/aperture/device/stream.h>
#include <cstddef>
#include <functional>
#include <vector>

namespace gr::aperture {

//! Memory of a device that work of the host reads.
struct input_span {
    const void* memory;
    size_t bytes;
};

//! Memory of a device that work of the host writes, or reads and writes.
struct output_span {
    void* memory;
    size_t bytes;
};

//! Work of the host, which gets a pointer to host memory for each span.
using host_work = std::function<void(const std::vector<const void*>& inputs,
                                     const std::vector<void*>& outputs)>;

/*!
 * Gives work that the host does to a stream, as a block for GPUs needs where there is
 * none. On the CPU the work is done at once, on the memory itself. On the emulated device
 * the stream's thread does it later, in order with the stream's other work, on copies of
 * the memory: so the work must not use the spans' pointers or anything else on the
 * device, and all that it refers to must live until then.
 *
 * An exception of the work is thrown here on the CPU, and by a later call of the stream
 * on the emulated device; in process() of a device_block both end the flowgraph with its
 * message.
 *
 * \throws std::logic_error for the stream of a GPU, whose memory the host cannot read
 */
APERTURE_DEVICE_API void run_on_host(stream& s,
                                     const std::vector<input_span>& inputs,
                                     const std::vector<output_span>& outputs,
                                     host_work work);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEVICE_HOST_WORK_H */
