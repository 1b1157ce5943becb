/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(corner_turn.h) */
/* BINDTOOL_HEADER_FILE_HASH(833c371978831d69eb42359c0e4d01fd) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/corner_turn.h>

namespace py = pybind11;

void bind_corner_turn(py::module& m)
{
    using block = gr::aperture::corner_turn;
    auto c = bind_block<block>(
        m,
        "corner_turn",
        R"doc(Collects spectra into frames in which time is the fastest axis.

Ports: inputs/inputs_per_port in, an item is `[input][channel]`, one spectrum of each input of
the port. One port out, an item is a frame `[channel][input][time]`. Ports are aligned by
rx_time; spectra lost in between become zeros with `missing` tags. When the input ends, the last
frame is filled up with zeros that count as missing, and tagged `partial`.
)doc");
    c.def("clamped",
          &block::clamped,
          "Returns, for each input, the samples so far in which -128 (sc4: -8) was "
          "replaced by -127 (-7).")
        .def("missing",
             &block::missing,
             "Returns, for each input, the spectra that were lost so far, without the "
             "padding at the end.")
        .def("implementation",
             &block::implementation,
             "Returns the name of the implementation.");
}
