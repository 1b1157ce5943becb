/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(device/block_on_device.h) */
/* BINDTOOL_HEADER_FILE_HASH(385fa9b06bcad055e768f87ea8e79616) */
/***********************************************************************************/

#include <gnuradio/aperture/device/block_on_device.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

void bind_block_on_device(py::module& m)
{
    using block = gr::aperture::block_on_device;

    py::class_<block, gr::block, gr::basic_block, std::shared_ptr<block>>(
        m, "block_on_device", "Base of all blocks whose device can be chosen.")
        .def("device_name",
             &block::device_name,
             "Returns where the block runs: cpu, cuda:0, ...; for `auto`, the device "
             "that was chosen.")
        .def("device_description",
             &block::device_description,
             "Returns the name of the GPU, for people; empty for the CPU.")
        .def("error",
             &block::error,
             "Returns the error that ended the block; empty if there was none since the "
             "last start.")
        .def("set_latency",
             &block::set_latency,
             py::arg("seconds"),
             R"doc(Sets how long a call waits for more input.

While the device is busy with earlier calls, a call that finds little input waits for more,
at most this long: many small calls would keep a GPU from its work. On the CPU, and where
the device keeps up, nothing waits.

Args:
    seconds: 0 (never waits) to 10

Raises:
    ValueError: it is not within these limits
)doc")
        .def("latency", &block::latency, "The longest wait for more input, in seconds.");
}
