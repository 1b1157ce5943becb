/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(synthesizer.h) */
/* BINDTOOL_HEADER_FILE_HASH(ba8df4dbe0011a96f72059c4b11e06b0) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/synthesizer.h>

namespace py = pybind11;

void bind_synthesizer(py::module& m)
{
    using block = gr::aperture::synthesizer;
    auto c = bind_block<block>(
        m,
        "synthesizer",
        R"doc(Makes samples in time of the channels of beams, at the rates of VLBI too.

In: frames `[channel][beam][time]` from beamformer, or `[channel][input][time]` from f_engine;
their channels are all of an F-engine's, or neighbours among them. Out: items of one sample of
each beam, which blocks with `inputs_per_port` take.

fc32 output has the channels' own rate and rx_freq: their spacing times their number, which with
oversampling P/Q is rounded up to a multiple of P. f32 output has the upper sideband of a band
that begins at `frequency`, at `sample_rate`; a sample's time is a whole number of samples behind
a second of UTC, and rx_freq is that of the band's middle. White noise keeps its power.

Outputs that lost or missing spectra would go into are zeros with the tag `missing` (`input` is
the beam, `first` the number of the item); so are those that two frequencies of the receiver
would go into. docs/synthesizer.md has figures and formulas.
)doc");
    c.def("implementation",
          &block::implementation,
          "Returns the name of the implementation.");
    c.def("error_power",
          &block::error_power,
          "Returns the power of the error that analysis and synthesis leave of white "
          "noise in "
          "all of an F-engine's channels, in dB of its own.");
    c.def("missing",
          &block::missing,
          "Returns, for each beam, the samples that were missing since the start.");
}
