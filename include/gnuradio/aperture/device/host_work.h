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

//! What is done with them: a pointer to host memory for each span.
using host_work = std::function<void(const std::vector<const void*>& inputs,
                                     const std::vector<void*>& outputs)>;

/*!
 * Gives work that the host does to a stream: what a block for GPUs does where there is
 * none. On the CPU it is done at once, on the memory itself. On the emulated device the
 * stream's thread does it later, in order with the stream's other work, on copies of the
 * memory: so neither the spans' pointers nor anything else on the device may be used in
 * it, and what it refers to must live until then.
 *
 * What the work throws is, on the CPU, thrown here, and on the emulated device by a later
 * call of the stream; in process() of a device_block both end the flowgraph with that
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
