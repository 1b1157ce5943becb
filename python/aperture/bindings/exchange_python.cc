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
/* BINDTOOL_HEADER_FILE_HASH(7ae7e009d83d02984a9d201929e2a091) */
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
        R"doc(The corner turn between devices: ranges of inputs to ranges of channels.

In: a port for each of `input_devices`, of frames `[channel][input][time]` with all channels of a
range of the inputs, as the F-engine of that device makes them. Out: a port for each of
`output_devices`, of frames `[channel][input][time]` with all inputs of a range of the channels, for
the X-engine or the beamformer of that device. Of n things in N ranges, range k is from
floor(k n / N) to floor((k + 1) n / N) - 1: see range_of().

The frames of all ports must begin at the same times. Where they say the time, they are lined up by
it: frames that some ports have and others lack are missing there, are zeros, and are tagged so.

Each output is tagged with the rx_freq and the bandwidth of its own channels; `missing` and
`partial` are those of all inputs, on all outputs; other tags are those of port 0.

Message port `status`: dictionaries of what was lost, as of corner_turn.
)doc",
        "    RuntimeError: GPUs cannot reach each other in the way asked for\n");
    c.def("implementation",
          &block::implementation,
          "What moves the items, a string such as \"cuda, copies\".")
        .def_static("range_of",
                    &block::range_of,
                    py::arg("part"),
                    py::arg("parts"),
                    py::arg("total"),
                    R"doc(The inputs, or the channels, of a port.

Args:
    part: which port, from 0
    parts: how many ports there are
    total: inputs or channels of all

Returns:
    (first, count)

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc");
}
