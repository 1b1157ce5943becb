/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(channel_source.h) */
/* BINDTOOL_HEADER_FILE_HASH(ed6d4de9b9fa55b2208870cdf34d8f2e) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/channel_source.h>

namespace py = pybind11;

void bind_channel_source(py::module& m)
{
    using block = gr::aperture::channel_source;
    auto c = bind_block<block, gr::aperture::recording_source>(
        m,
        "channel_source",
        R"doc(Reads channels that others have made, as pfb_channelizer would send them.

The parameters say where the voltages are in the files; the block knows no header. An item is
[input][channel], a spectrum of each input of the port, in the order of sky frequency: corner_turn
follows. Files may have their axes in any order; what lies in rows of time is transposed here.

A *piece* is a row of spectra in a file, of the inputs and channels of a *set*, which were recorded
together; it begins at a byte of the file and at a spectrum on the clock of the recording. A row of
`layout` says where some neighbouring channels of an input are in the pieces of its set, counted in
voltages from the piece's beginning: spectrum t of channel first_channel + c is at

    offset + c channel_stride + t time_stride + row (offset_rows + c channel_rows),

where `row` is the piece's last number, the spectra of the block that it is of: in blocks
[channel][time], channels are as far apart as a block is long, which need not be the same for all.
Strides of channels below zero reverse their order.

`coding` has the names of recording_source, and levels2_be (0 to 3 are 40, 12, -12, -40) and s4_be
(two's complement), whose first component is in the highest bits of a byte. `type` is that of the items: fc32 takes what is there as it is, times the gain; sc8 is rounded half to even and
clamped to +-127, unless the file has at most 8 bits and the gain is 1, when it is passed on as it is.

With `inverted`, voltages are conjugated, as those of a lower sideband have to be.

A spectrum of an input of which a piece is missing in any channel is zeros, with a tag `missing` for
each input and gap; so is one with NaN or infinite floats. Gaps of all inputs of more than 60 s are
left out. Item 0, and the next item after such a gap, carries rx_time, rx_freq (of channel n/2 of n),
rx_rate, bandwidth and samples_per_item.

A flowgraph that is stopped and started again reads from the beginning.
)doc",
        "    RuntimeError: a file cannot be read\n");
    c.def("channels", &block::channels, "Channels of each input.")
        .def("set_gain",
             &block::set_gain,
             py::arg("gain"),
             py::arg("input") = -1,
             "Sets the gain of an input, -1: of all. It holds from the next call on.")
        .def("gains", &block::gains, "Returns the gain of each input.");
}
