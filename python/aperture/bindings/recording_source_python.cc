/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(recording_source.h) */
/* BINDTOOL_HEADER_FILE_HASH(6165ff9862db4cf4c4c1ed2911a2d2e3) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/recording_source.h>
#include <gnuradio/sync_block.h>

namespace py = pybind11;

void bind_recording_source(py::module& m)
{
    using block = gr::aperture::recording_source;
    auto c = bind_block<block, gr::sync_block>(
        m,
        "recording_source",
        R"doc(Reads the samples of a recording whose headers have been read already.

Whoever makes this block says where samples are in which files; it knows no header. What lies
in a row in a file is a *piece*: samples of the inputs of a *set*, which were recorded
together, from a byte on, and from which sample on the clock of the recording. `layout` says
where the samples of an input are in the pieces of its set.

An item is one sample of each input of a port. Its type follows from `coding`:

- offset1, offset2, offset4, offset8, u8, s8: s8 or sc8. The levels of offset1 are -20, 20,
  those of offset2 -30, -9, 9, 30, those of offset4 7 (c - 8) for c from 0 to 15; the first
  sample is in the lowest bits of a byte. offset8 becomes s8 by subtracting 128. u8 is c - 127.5,
  as receivers of 8 bits (RTL-SDR) have their zero between two levels, rounded half to even and
  at most 127.
- u16, s16: s16 or sc16. u16 becomes s16 by subtracting 32768.
- u32, s32, f32, f64: f32 or fc32. u32 has 2147483648 subtracted.

Low bytes come first, or with `_be` behind the name (s16_be) high ones.

With `inverted`, complex samples are conjugated, and the stream is as if the sky frequency rose
with that of the baseband. Real samples are passed on as they are, and inverted() says that the
channeliser has to reverse them. A lowest integer, whose imaginary part has no negative, becomes
the highest and is counted by clamped().

Samples that are in no piece are zeros, with a tag `missing` for each input and gap. So are
samples that are no numbers (NaN, or infinite), with those that lie between two of them less than
64 samples from each other. Where no input has any for more than 60 s they are left out, and the
next item has rx_time, rx_freq and rx_rate anew, which is what item 0 carries.

A flowgraph that is stopped and started again reads from the beginning.
)doc",
        "    RuntimeError: a file cannot be read\n");
    c.def("inputs", &block::inputs, "Number of inputs.")
        .def("inputs_per_port", &block::inputs_per_port, "Inputs of each port.")
        .def("type",
             &block::type,
             "Of the samples that are sent: sc8, sc16, fc32, s8, s16 or f32.")
        .def("sample_rate", &block::sample_rate, "Samples a second of one input, in Hz.")
        .def("center_frequency",
             &block::center_frequency,
             "Middle of the band in Hz, as rx_freq has it.")
        .def("bandwidth", &block::bandwidth, "Of one input in Hz.")
        .def("inverted",
             &block::inverted,
             "True for real samples whose band is reversed: give it to pfb_channelizer. "
             "False "
             "for complex ones, which are conjugated here.")
        .def("samples", &block::samples, "Samples of each input in one pass.")
        .def("start_time",
             &block::start_time,
             "(seconds since 1970, fraction of a second) of the first sample that is "
             "read.")
        .def("error",
             &block::error,
             "Why reading ended before its time, or an empty string.")
        .def("clamped",
             &block::clamped,
             "For each input, complex samples whose imaginary part could not be negated.")
        .def("missing",
             &block::missing,
             "For each input, samples that were sent as zeros because no piece has them, "
             "or because they, or some beside them, are no numbers.")
        .def("not_numbers",
             &block::not_numbers,
             "For each input, samples that are no numbers (NaN, or infinite).")
        .def("finish",
             &block::finish,
             "Ends the stream: blocks downstream get all that was sent, and then end as "
             "well. "
             "Of a source that is not running the next start ends at once.");
}
