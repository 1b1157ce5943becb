/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(select.h) */
/* BINDTOOL_HEADER_FILE_HASH(5a510f0763884d87b7d9797589842665) */
/***********************************************************************************/

#include <gnuradio/aperture/select.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_select(py::module& m)
{
    using block = gr::aperture::select;
    const block::parameters d;

    py::class_<block, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<block>>(
        m, "select", R"doc(Picks products out of visibilities, one output port each.

Port in: fc32 `[channel][product]` of xengine. Port out, one for each pair of inputs (a, b):
fc32 `[channel]`, V[a,b] (the conjugate of V[b,a] where a < b). Tags are passed on;
`counted` becomes that of the port's own product.

Args:
    channels: of an item
    inputs: the X-engine's
    products: list of pairs of input numbers from 0; aperture.products() makes it from names

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc")
        .def(py::init([](int channels,
                         int inputs,
                         const std::vector<std::pair<int, int>>& products) {
                 return block::make({ channels, inputs, products });
             }),
             py::arg("channels") = d.channels,
             py::arg("inputs") = d.inputs,
             py::arg("products") = d.products,
             "Makes the block; see the class for the arguments.")
        .def("set_products",
             &block::set_products,
             py::arg("products"),
             "Picks other products, as many as there are ports, from the next item on.")
        .def("products", &block::products, "The pairs of inputs that are picked.");
}
