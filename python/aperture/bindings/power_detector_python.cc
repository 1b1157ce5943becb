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
/* BINDTOOL_HEADER_FILE_HASH(6fe26dc2b1ae9bec8c6aefbc527aca21) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/power_detector.h>

namespace py = pybind11;

void bind_power_detector(py::module& m)
{
    using block = gr::aperture::power_detector;
    auto c = bind_block<block>(
        m, "power_detector", R"doc(Powers and Stokes parameters of beams, integrated.

Products: `power` of each beam; of the pairs 2m, 2m+1 `I`, `IQUV`, or `coherency`: XX, YY,
Re XY*, Im XY*. I = XX + YY, Q = XX - YY, U = 2 Re XY*, V = 2 Im XY*; circular: I = RR + LL,
Q = 2 Re RL*, U = 2 Im RL*, V = RR - LL.

In: frames `[channel][beam][time]` from beamformer. Out: one f32 item
`[beam or pair][product][channel]` for each integration, with the tags `rx_time` (of its first
spectrum), `spectra` (its length), `counted` (without missing spectra: one number, or one for each
beam or pair and product), and `partial` if the input ended within it. It is the last one: no
integration is made of the zeros alone that fill the last frame.
)doc");
    c.def("implementation", &block::implementation, "What computes, a string.");
}
