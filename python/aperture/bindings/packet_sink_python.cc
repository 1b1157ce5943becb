/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(packet_sink.h) */
/* BINDTOOL_HEADER_FILE_HASH(f0bb8306a12a05be33e16573132f7228) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/packet_sink.h>

namespace py = pybind11;

void bind_packet_sink(py::module& m)
{
    using block = gr::aperture::packet_sink;

    bind_block<block, gr::sync_block>(
        m,
        "packet_sink",
        R"doc(Sends samples, or channels, in UDP packets, or writes them to a file.

packet_source receives them: layouts, items and the parameters that describe them are the same.
Packets go to `addresses`, over which the streams are spread in their order, or, with a `file`,
are written as captured ones (pcap).

They are sent at `pace` times their `rate`; 0: as fast as they come. A packet of which all
samples are missing is not sent. Tags: the rx_time of item 0 is the time of VDIF (without one, it
is the host's). Samples at the end that do not fill a packet are not sent
either.

Packets may be sent as a bad network would pass them on: some are lost, come twice
(`duplicate`), have a bit changed (`corrupt`), are held back for as long as `distance` packets of
a stream take (`reorder`), and all are late by a random part of `jitter`. The same `seed` makes
the same faults.
)doc",
        "    RuntimeError: the file or the socket cannot be opened\n")
        .def("counts",
             &block::counts,
             "Returns the packets since the start: `sent`, `bytes` of them, `lost`, "
             "`duplicated`, `corrupted` and `reordered` on purpose, and `missing`, which "
             "were not sent.")
        .def("error",
             &block::error,
             "Says why it ended before its time; empty if it did not.");
}
