/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(discard.h) */
/* BINDTOOL_HEADER_FILE_HASH(3f61925f07eefeae043765b8fb3305e2) */
/***********************************************************************************/

#include <gnuradio/aperture/discard.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_discard(py::module& m)
{
    using block = gr::aperture::discard;
    const block::parameters defaults;

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>(
        m, "discard", R"doc(Counts items and drops them, without a look at their data.

The end of a chain on a device, for tests, teaching and benchmarks: nothing is copied to the
host. One port in, of items of any size; no port out.

Args:
    item_size: bytes of an item
    device: auto (a GPU if there is one), cpu, cuda or cuda:N

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc")
        .def(py::init([](int item_size, const std::string& device) {
                 block::parameters p;
                 p.item_size = item_size;
                 p.device = device;
                 return block::make(p);
             }),
             py::arg("item_size") = defaults.item_size,
             py::arg("device") = defaults.device,
             "Makes the block; see the class for the arguments.")
        .def("items",
             &block::items,
             "Items since the start. The device may have some calls of work before them "
             "to "
             "do until the flowgraph has ended.");
}
