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
/* BINDTOOL_HEADER_FILE_HASH(fe08a74cc28a6b248c75814fb29d7aeb) */
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

The parameters say where the samples are in the files; the block knows no header. A *piece* is a
row of samples in a file, of the inputs of a *set*, which were recorded together; it begins at a
byte of the file and at a sample on the clock of the recording. `layout` says where the samples
of an input are in the pieces of its set.

An item is one sample of each input of a port. Its type follows from `coding`:

- offset1, offset2, offset4, offset8, u8, s8: s8 or sc8. The levels of offset1 are -20, 20,
  those of offset2 -30, -9, 9, 30, those of offset4 7 (c - 8) for c from 0 to 15; the first
  sample is in the lowest bits of a byte. offset8 becomes s8 by subtracting 128. u8 is c - 127.5,
  as receivers of 8 bits (RTL-SDR) have their zero between two levels, rounded half to even and
  at most 127.
- u16, s16: s16 or sc16. u16 becomes s16 by subtracting 32768.
- u32, s32, f32, f64: f32 or fc32. u32 has 2147483648 subtracted.

Bytes are in little-endian order, or big-endian with `_be` behind the name (s16_be).

With `inverted`, complex samples are conjugated, and the stream is as if the sky frequency rose
with that of the baseband. Real samples are passed on as they are, and inverted() says that the
channeliser has to reverse them. A lowest integer, whose imaginary part has no negative, becomes
the highest and is counted by clamped().

Samples that are in no piece are zeros, with a tag `missing` for each input and gap. So are
samples that are NaN or infinite, with those between two of them that are less than 64 samples
apart. Gaps of all inputs of more than 60 s are left out. Item 0, and the next item after such a
gap, carries rx_time, rx_freq and rx_rate.

A flowgraph that is stopped and started again reads from the beginning.
)doc",
        "    RuntimeError: a file cannot be read\n");
    c.def("inputs", &block::inputs, "Number of inputs.")
        .def("inputs_per_port", &block::inputs_per_port, "Inputs of each port.")
        .def("type",
             &block::type,
             "Returns the type of the samples that are sent: sc8, sc16, fc32, s8, s16 or "
             "f32.")
        .def("sample_rate",
             &block::sample_rate,
             "Returns the samples a second of one input.")
        .def("center_frequency",
             &block::center_frequency,
             "Returns the sky frequency of the middle of the band in Hz, as rx_freq has "
             "it.")
        .def("bandwidth", &block::bandwidth, "Returns the bandwidth of one input in Hz.")
        .def("inverted",
             &block::inverted,
             "Returns True for real samples whose band is reversed: give it to "
             "pfb_channelizer. It is False for complex ones, which are conjugated here.")
        .def("samples", &block::samples, "Returns the samples of each input in one pass.")
        .def("start_time",
             &block::start_time,
             "Returns (seconds since 1970, fraction of a second) of the first "
             "sample that is read.")
        .def("error",
             &block::error,
             "Says why reading ended before its time; empty if it did not.")
        .def("clamped",
             &block::clamped,
             "Returns, for each input, the complex samples whose imaginary part could "
             "not be negated.")
        .def("missing",
             &block::missing,
             "Returns, for each input, the samples that were sent as zeros because no "
             "piece has them, or because they, or some beside them, are NaN or infinite.")
        .def("not_numbers",
             &block::not_numbers,
             "Returns, for each input, the samples that are NaN or infinite.")
        .def("finish",
             &block::finish,
             "Ends the stream: blocks downstream get all that was sent, and then end as "
             "well. If the source is not running, its next start ends at once.");
}
