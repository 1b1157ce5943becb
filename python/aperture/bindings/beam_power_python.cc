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
/* BINDTOOL_HEADER_FILE_HASH(a397f8209ac2a9ef4fd067bde19c4447) */
/***********************************************************************************/

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
        R"doc(beamformer and power_detector in one: the beams' voltages never reach memory.

The same as beamformer (with fc32) and power_detector, and incoherent beams beside the coherent
ones, numbered behind them: the sum of the powers of the inputs in its mask. Of a pair, the k-th
input of one mask and the k-th of the other are an antenna.

Products: `power` of each beam; of the pairs 2m, 2m+1 `I`, `IQUV`, or `coherency`: XX, YY,
Re XY*, Im XY*. I = XX + YY, Q = XX - YY, U = 2 Re XY*, V = 2 Im XY*; circular: I = RR + LL,
Q = 2 Re RL*, U = 2 Im RL*, V = RR - LL.

In: frames `[channel][input][time]` from corner_turn. Out: one f32 item
`[beam or pair][product][channel]` for each integration, with the tags `rx_time` (of its first
spectrum), `spectra` (its length), `counted` (without missing spectra: one number, or one for each
beam or pair and product), and `partial` if the input ended within it. It is the last one: no
integration is made of the zeros alone that fill the last frame.

Message port `weights`: dictionary of `weights` (c32vector, shapes as of set_weights()), `gain`
(number, or f32vector of one per beam) or `mask` (u8vector), or several of them, and if wanted
`beam` (long; all without it) and `time` (tuple of uint64 and double: holds from the first frame
that starts at or after it). What one message says takes effect at once, and never within a
frame. Message port `status`: dictionaries with `event`.
)doc");
    c.def("implementation", &block::implementation, "What computes, a string.");
    bind_weight_methods<block>(c);
}
