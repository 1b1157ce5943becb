/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(upchanneliser.h) */
/* BINDTOOL_HEADER_FILE_HASH(c22f748842a1d343906ce77c1057f13f) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/upchanneliser.h>

namespace py = pybind11;

void bind_upchanneliser(py::module& m)
{
    using block = gr::aperture::upchanneliser;
    auto c = bind_block<block>(
        m,
        "upchanneliser",
        R"doc(Splits the channels of a filter bank further, each by a filter bank of its own.

Each of K channels becomes F fine ones, in order of increasing sky frequency: fine channel f of
channel k is centred on that of channel k plus (f - floor(F/2)) / F of the channels' spacing. Of
channels that are oversampled by P/Q, F P/Q fine channels are made, and the middle F kept, so that
the band has no seams. The shape of the channels is taken out where `coarse_taps` is given.

Ports: inputs/inputs_per_port in, as many out. An input item is `[input][channel]`, a spectrum of
each input of the port, as of pfb_channelizer and channel_source; an output item `[input][channel
x fine]`. N spectra give floor(N / (F P/Q)) - taps + 1. A spectrum of an input is zeros, with a
`missing` tag, where one under its filter was lost or is missing.
)doc");
    c.def("gains",
          &block::gains,
          "Returns the gain of each fine channel of a channel, which takes the shape of "
          "the "
          "channels out, times `gain`.")
        .def("clamped",
             &block::clamped,
             "Returns, for each input, the output samples so far that did not fit into 8 "
             "bits.")
        .def("clamped_samples",
             &block::clamped_samples,
             "Returns, for each input, the voltages so far in which -128 (sc4: -8) was "
             "read "
             "as -127 (-7).")
        .def("missing",
             &block::missing,
             "Returns, for each input, the spectra so far that are zeros because of what "
             "was "
             "missing.")
        .def("implementation",
             &block::implementation,
             "Returns the name of the implementation.");
}
