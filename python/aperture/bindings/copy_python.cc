/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(copy.h) */
/* BINDTOOL_HEADER_FILE_HASH(7f756139da477054f612f94779a9db55) */
/***********************************************************************************/

#include <gnuradio/aperture/copy.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_copy(py::module& m)
{
    using block = gr::aperture::copy;
    const block::parameters defaults;

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>(
        m, "copy", R"doc(Passes items on unchanged, by way of the memory of a device.

For tests, teaching and benchmarks: what an edge on a device costs, without a kernel. One
port in, one port out, of items of any size; all tags are passed on.

Args:
    item_size: bytes of an item
    device: auto (a GPU if there is one), cpu, cuda or cuda:N
    latency: the longest wait of a call for more input, in seconds; see set_latency()

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc")
        .def(py::init([](int item_size, const std::string& device, double latency) {
                 block::parameters p;
                 p.item_size = item_size;
                 p.device = device;
                 p.latency = latency;
                 return block::make(p);
             }),
             py::arg("item_size") = defaults.item_size,
             py::arg("device") = defaults.device,
             py::arg("latency") = defaults.latency,
             "Makes the block; see the class for the arguments.");
}
