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
/* BINDTOOL_HEADER_FILE_HASH(7999377307f2da8cc35d726bd2d93165) */
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
            R"doc(Forms beams and detects them in one kernel: the beams' voltages never reach memory.

Coherent beams are those of beamformer (with fc32) and power_detector. Incoherent beams are
numbered behind them: each is the sum of the powers of the inputs in its mask. In a pair of
incoherent beams, the k-th input of one mask and the k-th of the other are one antenna.
)doc") + about_detection("`[channel][input][time]` from corner_turn") +
            R"doc(
With spectra_per_slice, port 1 takes the masks of the frames, `[channel][input][byte]` of u8
from flagger, one for each frame, and port 1 gives counts as power_detector does. Flagged inputs
are zero in a beam's sum, as missing ones are: a spectrum counts for a beam while any input that
the beam uses (with a weight in any channel, or in its mask) is there and not flagged.
)doc" + about_weights);
    c.def("implementation",
          &block::implementation,
          "Returns the name of the implementation.");
    bind_weight_methods<block>(c);
}
