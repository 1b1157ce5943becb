/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(pulse_search.h) */
/* BINDTOOL_HEADER_FILE_HASH(f6fd06f34103b2a8e866e081f073f22c) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/pulse_search.h>

namespace py = pybind11;

void bind_pulse_search(py::module& m)
{
    using block = gr::aperture::pulse_search;
    auto c = bind_block<block>(
        m, "pulse_search", R"doc(Finds dispersed pulses in dedispersed powers.

In: items `[beam][trial][time]` of f32 from dedisperser, which has the same parameters. In each
beam and trial the running median is subtracted, and the rest is divided by a running rms.
Boxcars of widths from 1 to `widest` samples give the S/N: sum / (rms sqrt(width)). Cells above
the threshold that are near in time, dispersion measure, width and beam are one candidate.

Messages on the ports `candidates` and, with a `reason` (low_dm or many_beams), `rejected` are
dictionaries of

- id: a text of letters, digits, - and _
- time: the middle of the pulse at infinite frequency, UTC, (seconds, fraction)
- dm: pc/cm^3; width: s; snr; beam: the one with the largest S/N; beams: how many saw it
- start, end: times between which the pulse sweeps the band at the antennas, with a margin

`status` has events, among them `left_out` (`count` cells that there was no room for) and, once
a second and at the end, `counts`. The block has no port out. Tags: rx_time gives the time;
rx_rate, rx_freq and bandwidth, where they come, must agree with the parameters.
)doc");
    c.def("implementation",
          &block::implementation,
          "Returns the name of the implementation.");
    c.def("widths",
          &block::widths,
          "Returns the widths of the boxcars, in samples of a trial: a list.");
    c.def("cells",
          &block::cells,
          "Returns, for each boxcar, all sums above the threshold since the start, "
          "before any selection: a list.");
    c.def("left_out",
          &block::left_out,
          "Returns how many cells were dropped as there was no room for them.");
    c.def("candidates", &block::candidates, "Returns how many candidates were sent.");
    c.def("rejected", &block::rejected, "Returns how many candidates were rejected.");
}
