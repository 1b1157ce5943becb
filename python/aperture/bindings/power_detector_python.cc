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
/* BINDTOOL_HEADER_FILE_HASH(f3e1be17aff0a27932230e9af6a0c48f) */
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
        std::string(R"doc(Powers and Stokes parameters of beams, integrated.
)doc") + about_detection("`[channel][beam][time]` from beamformer"));
    c.def("implementation", &block::implementation, "What computes, a string.");
}
