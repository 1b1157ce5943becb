/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(power_normalizer.h) */
/* BINDTOOL_HEADER_FILE_HASH(5bd7397e67f6f0441f9143026fbb5489) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/power_normalizer.h>

namespace py = pybind11;

void bind_power_normalizer(py::module& m)
{
    using block = gr::aperture::power_normalizer;
    auto c = bind_block<block>(
        m,
        "power_normalizer",
        R"doc(Gives powers of beams in units of their noise, with interference set to zero.

In: f32 items `[beam][channel]` from power_detector or beam_power with one product, `power` or
`I`, as means. Out: (power - mean) / rms, as f32 or s8, with the same tags. Mean and rms of each
beam and channel are robust averages over the segments of a window that ends with the segment of
the item; at the start the window is shorter. Flagged and missing powers become 0. Items come
out when their segment is complete. docs/power-normalizer.md has the formulas.

Tags that are read: `counted` and `spectra` (an item of which less than half was summed is missing),
`rx_freq` (another one begins anew), `rx_rate` (an error if it contradicts sample_time). Message
port `status`: event `flagged` with the vectors of counts(), once a second where they changed.
)doc");
    c.def("implementation",
          &block::implementation,
          "Returns the name of the implementation.");
    c.def("segment",
          &block::segment,
          "Returns the number of items in a segment, which come out together.");
    c.def(
        "counts",
        &block::counts,
        py::call_guard<py::gil_scoped_release>(),
        "Returns the cells (a channel of a beam in an item) since the start, in lists of "
        "one count for each beam: `missing`, of flagged channels (`channel`), of flagged "
        "items (`spectrum`), flagged by themselves (`cell`), each counted once, under "
        "the first of these; and `clamped`, those that did not fit into s8.");
}
