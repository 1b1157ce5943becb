/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(dada_source.h) */
/* BINDTOOL_HEADER_FILE_HASH(23b6aaf0f826c190ac5461110579bcee) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/dada_source.h>

namespace py = pybind11;

void bind_dada_source(py::module& m)
{
    using block = gr::aperture::dada_source;
    auto c = bind_block<block, gr::aperture::recording_source>(
        m,
        "dada_source",
        R"doc(Reads a PSRDADA file: samples of NPOL inputs.

One port out: an item is one sample of each input, in the order of the file, of type sc8, sc16
or fc32 (NDIM 2), s8, s16 or f32 (NDIM 1), for NBIT 8, 16 and 32; NCHAN is 1. The format does
not say how samples are coded: two's complement integers of 8 and 16 bits and floats of 32 bits,
low byte first, are assumed.

Where BW is negative (the sky frequency falls with that of the baseband) complex samples are
conjugated, and the stream is as if BW were positive. Real samples are passed on as they are,
and inverted() says that the channeliser has to reverse them. -128 is passed on; where it
would have to be conjugated it becomes +127 and is counted by clamped() (16 bit: -32768,
+32767).

Tags: item 0 carries rx_time (UTC_START, or MJD_START if there is none, OBS_OFFSET and `begin` added
in integer arithmetic), rx_freq (the middle of the band) and rx_rate.

A file that is shorter than FILE_SIZE (with or without its header: both are in use), or not a
whole number of samples, is read as far as it goes, with a warning. A flowgraph that is stopped
(or locked) and started again reads from the beginning.
)doc",
        "    ValueError: or the file, the key of its header, its value and what is "
        "allowed\n    RuntimeError: the file cannot be read\n");
    c.def(
         "header",
         [](const block& source) {
             py::dict header;
             for (const auto& [key, value] : source.header())
                 // nothing says in what encoding names are written
                 header[py::bytes(key).attr("decode")("utf-8", "replace")] =
                     py::bytes(value).attr("decode")("utf-8", "replace");
             return header;
         },
         "Returns the keywords and values of the file's header, as text, as they are "
         "written there.")
        .def("warning",
             &block::warning,
             "Says what is missing or contradictory in the file; empty if nothing is.");
}
