/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(exchange.h) */
/* BINDTOOL_HEADER_FILE_HASH(2f5e14cab49d5e0c06b41db444f52fe8) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/exchange.h>

namespace py = pybind11;

void bind_exchange(py::module& m)
{
    using block = gr::aperture::exchange;
    auto c = bind_block<block>(
        m,
        "exchange",
        R"doc(Exchanges frames between devices: from ranges of inputs to ranges of channels.

In: a port for each of `input_devices`, of frames `[channel][input][time]` with all channels of
a range of the inputs, as the F-engine of that device makes them. Out: a port for each of
`output_devices`, of frames `[channel][input][time]` with all inputs of a range of the channels,
for the X-engine or the beamformer of that device. Where n inputs or channels are split into N
ranges, range k is from floor(k n / N) to floor((k + 1) n / N) - 1: see range_of().

The frames of all ports must begin at the same times. Frames with rx_time are aligned by it:
frames that some ports have and others lack are zeros there, and tagged as missing.

Each output is tagged with the rx_freq and the bandwidth of its own channels; `missing` and
`partial` are those of all inputs, on all outputs; other tags are those of port 0.

Message port `status` sends dictionaries about lost frames, as corner_turn does.
)doc",
        "    RuntimeError: GPUs cannot reach each other in the way asked for\n");
    c.def("implementation",
          &block::implementation,
          "Names what moves the items, for example \"cuda, copies\".")
        .def_static("range_of",
                    &block::range_of,
                    py::arg("part"),
                    py::arg("parts"),
                    py::arg("total"),
                    R"doc(Returns the inputs, or the channels, of a port.

Args:
    part: index of the port, from 0
    parts: number of ports
    total: inputs, or channels, of all ports

Returns:
    (first, count)

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc");
}
