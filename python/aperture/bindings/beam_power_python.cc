/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(beam_power.h) */
/* BINDTOOL_HEADER_FILE_HASH(8e54f49db9cb3cec7f2ed1040f3981a9) */
/***********************************************************************************/

#include "about_detection.h"
#include "block_binding.h"
#include "weight_methods.h"
#include <gnuradio/aperture/beam_power.h>

namespace py = pybind11;

void bind_beam_power(py::module& m)
{
    using block = gr::aperture::beam_power;
    auto c = bind_block<block>(
        m,
        "beam_power",
        std::string(
            R"doc(beamformer and power_detector in one: the beams' voltages never reach memory.

The same as beamformer (with fc32) and power_detector, and incoherent beams beside the coherent
ones, numbered behind them: the sum of the powers of the inputs in its mask. Of a pair, the k-th
input of one mask and the k-th of the other are an antenna.
)doc") + about_detection("`[channel][input][time]` from corner_turn") +
            about_weights);
    c.def("implementation", &block::implementation, "What computes, a string.");
    bind_weight_methods<block>(c);
}
