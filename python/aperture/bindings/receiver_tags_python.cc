/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(receiver_tags.h) */
/* BINDTOOL_HEADER_FILE_HASH(b325004a6f6affc6182f4a992e1c0a1d) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/receiver_tags.h>

namespace py = pybind11;

void bind_receiver_tags(py::module& m)
{
    using block = gr::aperture::receiver_tags;

    bind_block<block, gr::sync_block>(
        m,
        "receiver_tags",
        R"doc(Says when, at which frequency and at which rate samples were received.

For receivers, files and other sources that do not say so themselves. It has one port in and one
port out, of items of any size, which are passed on unchanged. The first item gets those of
rx_time, rx_rate and rx_freq that it lacks; what was assumed is logged and published on port
`status`.

rx_time from the host's clock is when the first items came. It is late by what lay in the
receiver, the driver and the bus, and is tagged rx_time_approximate. After the first item the
clock goes on at the rate.

A frequency or rate that is set while the block runs is tagged at the next item that it passes
on, with an rx_time beside it, so that it does not look like a loss. Samples that were on their
way when the receiver was tuned pass before. Port `command` takes what the sources of receivers
take, so that one message can go to both: a pair or a dictionary of `freq` (Hz), `rate` (items a
second) or `time` (a tuple as in rx_time: of the next item); everything else is left to the
receiver.
)doc")
        .def(
            "set_center_frequency",
            &block::set_center_frequency,
            py::arg("frequency"),
            "The receiver was tuned: rx_freq (Hz) is tagged at the next item. 0: none is "
            "added.")
        .def("center_frequency", &block::center_frequency, "Hz, as it was set last.")
        .def("set_rate",
             &block::set_rate,
             py::arg("rate"),
             "The receiver's rate is another one: rx_rate (items a second) is tagged at "
             "the next item. 0: none is added.")
        .def("rate", &block::rate, "Items a second, as it was set last.")
        .def("set_time",
             &block::set_time,
             py::arg("time"),
             "The time of the next item (before the start: of the first one), as (whole "
             "seconds since 1970, fraction of a second): what a receiver of GPS or the "
             "user says.")
        .def("losses",
             &block::losses,
             "Returns how often the source said since the start that samples were lost: "
             "an rx_rate that is repeated, or an rx_time that jumps by half an item or "
             "more. Drivers say the same when the receiver is tuned.")
        .def("waiting",
             &block::waiting,
             "Returns the items that have come and were not passed on yet: there are "
             "none where the source sends nothing any more, and some where the blocks "
             "behind have no room.")
        .def("finish",
             &block::finish,
             "Ends the stream with the items that were passed on so far, also where the "
             "source sends nothing any more, so that all blocks behind this one write "
             "what they have.");
}
