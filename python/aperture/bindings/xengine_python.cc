/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(xengine.h) */
/* BINDTOOL_HEADER_FILE_HASH(ab96472f6420bee140118981264ddd5e) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/xengine.h>

namespace py = pybind11;

void bind_xengine(py::module& m)
{
    using block = gr::aperture::xengine;
    auto c = bind_block<block>(
        m,
        "xengine",
        R"doc(Correlates: sums the products of all pairs of inputs over time.

V[a,b] = sum_t x_a(t) conj(x_b(t)) for inputs a >= b, product a(a+1)/2 + b. Sums of sc8 and sc4
are exact integers and are rounded once, to fc32. For fc32 the components of a product are wrong
by at most 3.2e-5 of sum |x_a| |x_b|.

Port in: frames `[channel][input][time]` of corner_turn. Port out: fc32 `[channel][product]`,
one item an integration, with the tags rx_time (of its first spectrum), spectra (its length),
counted (spectra that were summed, one count for each product or one for all) and partial (on
the last one if the input ended within it).

With spectra_per_slice, port 1 takes the masks of the frames, `[channel][input][byte]` of u8
from flagger, one for each frame, and port 1 gives the counts, u32 `[channel][product]`, one
item an integration: spectra in which neither input is missing or flagged. Each channel of a
product is divided by its own count; counted does not consider flags. Masks that end before the
frames, or whose rx_time is another, end the flowgraph with an error.
)doc");
    c.def("set_integration",
          &block::set_integration,
          py::arg("length"),
          py::arg("unit") = "frames",
          "Sets the length, in frames or seconds, from the next integration on.")
        .def("frames_per_integration",
             &block::frames_per_integration,
             "Returns the frames in the present integration; 0 while a length in seconds "
             "awaits the rate of the frames.")
        .def("set_normalise",
             &block::set_normalise,
             py::arg("normalise"),
             "Sets whether products are divided by their counted spectra, from the "
             "integration on that ends next.")
        .def("implementation",
             &block::implementation,
             "Returns the name of the implementation.");
}
