/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(power_detector.h) */
/* BINDTOOL_HEADER_FILE_HASH(d50ca1701c2b986cf7f68c01efc5808e) */
/***********************************************************************************/

#include "about_detection.h"
#include "block_binding.h"
#include <gnuradio/aperture/power_detector.h>

namespace py = pybind11;

void bind_power_detector(py::module& m)
{
    using block = gr::aperture::power_detector;
    auto c = bind_block<block>(
        m,
        "power_detector",
        std::string(R"doc(Integrates powers or Stokes parameters of beams.
)doc") + about_detection("`[channel][beam][time]` from beamformer") +
            R"doc(
With spectra_per_slice, port 1 takes the masks of the frames, `[channel][beam][byte]` of u8
from a flagger of beams, one for each frame, and port 1 gives the counts, u32 `[beam or
pair][channel]`, one item an integration: the spectra that are neither missing nor flagged (for
a pair, in neither beam), of all summed channels together. With mean, |x|^2, |y|^2 and x y* are
each
divided by their own counts, channel by channel; counted does not consider flags. Masks that end
before the frames, or whose rx_time is another, end the flowgraph with an error.
)doc");
    c.def("implementation",
          &block::implementation,
          "Returns the name of the implementation.");
}
