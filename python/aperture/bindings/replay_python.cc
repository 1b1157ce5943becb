/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(replay.h) */
/* BINDTOOL_HEADER_FILE_HASH(f3acc8426eb2b5eee62cc13f1915575e) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/replay.h>

namespace py = pybind11;

void bind_replay(py::module& m)
{
    using block = gr::aperture::replay;
    auto c = bind_block<block>(
        m,
        "replay",
        R"doc(Sends given items again and again, out of the memory of a device.

The data goes to the device once, when the flowgraph starts: a source as fast as the device, for
tests, lessons and benchmarks. It has no port in and one port out.

Item 0 carries rx_time, rx_freq, and those of rx_rate, bandwidth and samples_per_item that
were given. The clock goes on from one repetition to the next, without a gap. Each start of
the flowgraph, also by unlock(), begins at the first item.
)doc");
    c.def("finish",
          &block::finish,
          "Ends the stream: blocks downstream get all that was sent, and then end as "
          "well. If the source is not running, its next start ends at once.");
}
