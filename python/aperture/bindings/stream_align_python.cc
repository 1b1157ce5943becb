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
/* BINDTOOL_HEADER_FILE_HASH(d52f67115e48af73a2bdddf232f908e2) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/stream_align.h>

namespace py = pybind11;

void bind_stream_align(py::module& m)
{
    using block = gr::aperture::stream_align;

    bind_block<block>(m, "stream_align", R"doc(Aligns the samples of several receivers.

There are as many ports out as in, of samples of one input each: items of the same index on all
outputs were received at the same time. Whole samples are shifted by dropping samples or
inserting zeros, which are tagged `missing` so that channelisers do not count them. The rest of
the delay is tagged on the first sample for which it holds, as `delay` and, where it was
measured, `phase` (for receivers on crystals of their own also `delay_rate` and `phase_rate`):
pfb_channelizer and f_engine apply these.

Ports whose rx_time is true are aligned by it: it counts from 1970, and is not tagged as
approximate. All others are aligned by correlation, of a noise source or the sky. The output is
held back until the first such measurement has ended; the samples wait in the buffers of the
inputs, and none is lost unless the receivers overflow. An input that does not correlate with
the reference is sent as missing, a warning says so, and it is tried again, after a second at
first and a minute at last.

With `noise_source="message"` a noise source with a switch is on while the inputs are measured: port
`noise` sends {"noise": true} and later false, to a noise_switch, which turns them into what the
receiver understands. From where it is switched on until the coherence has fallen again, all
samples are missing (noise_samples() counts them). A switch that does not answer within
`noise_patience` is reported, and samples pass again. By hand, {"command": "noise_on"} and
"noise_off" do the same.

Measurements are repeated every `interval` seconds, by measure() or a message `{"command":
"measure"}`, where a receiver is tuned to another frequency, and after a loss of unknown length;
for the last two, the output is held back at that sample. Slips in between are noticed and mended
every `watch` seconds.

Port `status` sends events, among them `aligned`, `not_aligned` and `slip`, and the `state`
every `status_interval` seconds. Port `gains` sends the relative gains that were measured, as
f_engine takes them.
)doc")
        .def("measure",
             &block::measure,
             "Measures offsets by correlation from the next samples on.")
        .def(
            "switch_noise",
            &block::switch_noise,
            py::arg("on"),
            "Switches the noise source on, until it is switched off; samples are missing "
            "meanwhile.")
        .def("noise_on",
             &block::noise_on,
             "Returns whether samples are missing now as the noise source may be on.")
        .def("noise_samples",
             &block::noise_samples,
             "Returns for how many samples of each input that was so.")
        .def(
            "hold_back",
            &block::hold_back,
            "Holds the output back until release(), even if the inputs are aligned: "
            "items stay in the buffers of the inputs meanwhile, as far as these suffice.")
        .def("release", &block::release, "Lets the output go after hold_back().")
        .def("set_interval",
             &block::set_interval,
             py::arg("seconds"),
             "Sets the seconds from one measurement to the next; 0: see the class.")
        .def("set_watch",
             &block::set_watch,
             py::arg("seconds"),
             "Sets the seconds from one search for slips to the next; 0: none.")
        .def("set_unaligned",
             &block::set_unaligned,
             py::arg("unaligned"),
             "Sets whether inputs whose offset is unknown are passed on as they come.")
        .def("set_status_interval",
             &block::set_status_interval,
             py::arg("seconds"),
             "Sets the seconds from one `state` on port `status` to the next; 0: none.")
        .def("offsets",
             &block::offsets,
             "Returns, for each input, its delay less that of the reference, in samples, "
             "counted from the first sample of each, with the part that is tagged as "
             "`delay`.")
        .def("phases",
             &block::phases,
             "Returns, for each input, the phase that is tagged as `phase`, in radians.")
        .def("snr",
             &block::snr,
             "Returns the signal-to-noise ratio of each input at the last measurement by "
             "correlation; 0: none yet.")
        .def("clock_ppm",
             &block::clock_ppm,
             "Returns, for each input, the millionths by which its clock is faster than "
             "that of the reference, as measured last; not a number where nothing was.")
        .def("aligned",
             &block::aligned,
             "Returns, for each input, whether its offset is known.")
        .def("reasons",
             &block::reasons,
             "Returns why each input was not found by the last measurement by "
             "correlation; empty where it was, and before the first one.")
        .def("zeros",
             &block::zeros,
             "Returns, for each input, the samples that were sent as zeros, as they are "
             "missing.")
        .def("dropped",
             &block::dropped,
             "Returns, for each input, the samples that were dropped.")
        .def("slips",
             &block::slips,
             "Returns, for each input, the slips that were noticed and mended.")
        .def("searching",
             &block::searching,
             "Returns whether a measurement is being computed, or its result is still to "
             "be used.")
        .def("measurements",
             &block::measurements,
             "Returns how many measurements by correlation have ended, with whatever "
             "result.");
}
