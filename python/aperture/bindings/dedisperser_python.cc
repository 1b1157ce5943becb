/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(dedisperser.h) */
/* BINDTOOL_HEADER_FILE_HASH(d756d6758fcfc7998d658650c4417c14) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/dedisperser.h>

namespace py = pybind11;

void bind_dedisperser(py::module& m)
{
    using block = gr::aperture::dedisperser;
    auto c = bind_block<block>(
        m,
        "dedisperser",
        R"doc(Sums powers of beams over channels along the delays of dispersion measures.

In: items `[beam][channel]` of f32, s8 or u8, one for each time. Out: items of f32,
`[beam][trial][time]`: for each beam, for each trial in the order of `dms`, times_per_item /
decimation sums over all channels and over `decimation` times. transients.TrialLayout.split()
takes items apart.

The delay of channel k is K DM (f_k^-2 - f_ref^-2), with K = 1 / 2.41e-4 s MHz^2 cm^3 / pc and
f_ref the centre of the highest channel, within the tolerance; delays() has the exact ones. An
input of N times gives N - longest_delay() times: no sum lacks channels.

Tags of each item: `rx_time` (of its first sum at f_ref), `spectra` (the times of the input that
it has sums of), `counted` (how many of these were not missing), and `partial` on the last item,
whose rest is 0; on the first one also `rx_rate` (items a second), `rx_freq` and `bandwidth` as
in the input. An `rx_rate`, `rx_freq` or `bandwidth` of the input that contradicts the
parameters ends the flowgraph with an error.
)doc");
    c.def("implementation",
          &block::implementation,
          "Returns the name of the implementation.");
    c.def("longest_delay",
          &block::longest_delay,
          "Returns how many later times of the input the output of one time needs.");
    c.def(
        "delays",
        [](const block& b) {
            const auto delays = b.delays();
            const auto trials = py::ssize_t(b.trials());
            return py::array_t<int64_t>({ trials, py::ssize_t(delays.size()) / trials },
                                        delays.data());
        },
        R"doc(Returns the delays that are used, in times of the input.

Returns:
    int64 array [trial][channel], multiples of the decimation of each trial
)doc");
}
