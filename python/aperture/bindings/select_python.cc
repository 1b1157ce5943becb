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
/* BINDTOOL_HEADER_FILE_HASH(0f29a1c94a886d2e29f191997c2c4e08) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/select.h>
#include <gnuradio/sync_block.h>

namespace py = pybind11;

void bind_select(py::module& m)
{
    using block = gr::aperture::select;
    auto c = bind_block<block, gr::sync_block>(
        m, "select", R"doc(Selects products of visibilities, one for each output port.

Port in: fc32 `[channel][product]` of xengine. Port out, one for each pair of inputs (a, b):
fc32 `[channel]`, V[a,b] (the conjugate of V[b,a] where a < b). Tags are passed on;
`counted` becomes that of the port's own product.
)doc");
    c.def("set_products",
          &block::set_products,
          py::arg("products"),
          "Selects other products, as many as there are ports, from the next item on.")
        .def("products",
             &block::products,
             "Returns the pairs of inputs that are selected.");
}
