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
/* BINDTOOL_HEADER_FILE_HASH(d2334bd7b0c274dc97df614ce34ea51d) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/discard.h>

namespace py = pybind11;

void bind_discard(py::module& m)
{
    using block = gr::aperture::discard;
    auto c = bind_block<block>(
        m, "discard", R"doc(Counts items and drops them without reading their data.

The end of a chain on a device, for tests, teaching and benchmarks: nothing is copied to the
host. One port in, of items of any size; no port out. Tags are not read.
)doc");
    c.def("items",
          &block::items,
          "Returns the items since the start. Until the flowgraph has ended, the device "
          "may still be at work on some of them.");
}
