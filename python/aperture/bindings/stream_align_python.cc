/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(stream_align.h) */
/* BINDTOOL_HEADER_FILE_HASH(0ca72eaf8f1bfd3f84fd5ce9de5f51af) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/stream_align.h>

namespace py = pybind11;

void bind_stream_align(py::module& m)
{
    using block = gr::aperture::stream_align;

    bind_block<block>(m, "stream_align", R"doc(Lines the samples of several receivers up.

As many ports out as in, of samples of one input each: items of the same number on all outputs
were received at the same time. Whole samples are shifted by dropping them or by zeros, which are
tagged `missing` so that channelisers do not count them. What is left is tagged on the first sample
for which it holds, as `delay` and, where it was measured, `phase` (for receivers on crystals of
their own also `delay_rate` and `phase_rate`): pfb_channelizer and f_engine apply these.

Ports whose rx_time is true are lined up by it: it counts from 1970, and nobody says that it is
approximate. All others are lined up by correlation, of a noise source or the sky. The output is
held back until the first such measurement has ended; the samples wait in the buffers of the
inputs, and none is lost unless the receivers overflow. An input that does not correlate with the
reference is sent as missing, a warning says so, and it is tried again, after a second at first
and a minute at last.

Measurements are repeated every `interval` seconds, by measure() or a message `{"command":
"measure"}`, where a receiver is tuned to another frequency, and after a loss of unknown length;
for the last two, the output is held back at that sample. Slips in between are noticed and mended
every `watch` seconds.

Port `status` sends what happened, among it `aligned`, `not_aligned` and `slip`, and the `state`
every `status_interval` seconds. Port `gains` sends the relative gains that were measured, as
f_engine takes them.
)doc")
        .def("measure",
             &block::measure,
             "Measures offsets by correlation from the next samples on.")
        .def(
            "hold_back",
            &block::hold_back,
            "The output waits until release(), although the inputs may be lined up: what "
            "comes lies in the buffers of the inputs meanwhile, as far as these reach.")
        .def("release", &block::release, "Lets the output go after hold_back().")
        .def("set_interval",
             &block::set_interval,
             py::arg("seconds"),
             "Seconds from one measurement to the next; 0: see the class.")
        .def("set_watch",
             &block::set_watch,
             py::arg("seconds"),
             "Seconds from one look for slips to the next; 0: none.")
        .def("set_unaligned",
             &block::set_unaligned,
             py::arg("unaligned"),
             "Whether inputs whose offset is unknown are passed on as they come.")
        .def("set_status_interval",
             &block::set_status_interval,
             py::arg("seconds"),
             "Seconds from one `state` on port `status` to the next; 0: none.")
        .def("offsets",
             &block::offsets,
             "Of each input: what it was delayed by, less that of the reference, in "
             "samples, counted from the first sample of each, with the part that is "
             "tagged as `delay`.")
        .def(
            "phases", &block::phases, "Radians of each input: what is tagged as `phase`.")
        .def("snr",
             &block::snr,
             "Signal-to-noise of each input at the last measurement by correlation; 0: "
             "none yet.")
        .def("aligned", &block::aligned, "Whether the offset of each input is known.")
        .def("reasons",
             &block::reasons,
             "Why each input was not found by the last measurement by correlation; empty "
             "where it was, and before.")
        .def("zeros",
             &block::zeros,
             "Samples of each input that were sent as zeros, as they are missing.")
        .def("dropped", &block::dropped, "Samples of each input that were dropped.")
        .def("slips", &block::slips, "Slips of each input that were noticed and mended.")
        .def(
            "searching",
            &block::searching,
            "Whether a measurement is being computed, or its answer is still to be used.")
        .def("measurements",
             &block::measurements,
             "Measurements by correlation that have ended, with whatever result.");
}
