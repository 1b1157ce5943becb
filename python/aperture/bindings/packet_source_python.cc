/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(packet_source.h) */
/* BINDTOOL_HEADER_FILE_HASH(373077fa15535efd5ddc19c61b524883) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/packet_source.h>

namespace py = pybind11;

void bind_packet_source(py::module& m)
{
    using block = gr::aperture::packet_source;

    bind_block<block, gr::sync_block>(m,
                                      "packet_source",
                                      R"doc(Receives samples, or channels, in UDP packets.

Packets come to `addresses`, of IPv4 or IPv6, with a thread for each; multicast groups are
joined. `transport` says whether they come to sockets, or past the system. Or they are read from
`files` as tcpdump and Wireshark write them. `layout` says what a packet is: one that is built
in, such as `plain` (a sequence number, then samples), `vdif`, or `best2` (a channel of all
inputs), or a file of YAML with the fields of the header. Packets of several `streams`, addresses
of `plain`, threads of `vdif` and channels of `best2`, are numbered by one clock, and may begin
at different times.

Out: where a header names no channel an item is a sample of each input of the port; input s *
`inputs` + i is input i of stream s. Otherwise it is a frame [channel][input][time] of
`packets_per_frame` * `samples` spectra: of `channels` of each of the `streams`, and of `inputs`
of each of the `input_groups`.

Samples that do not come within the `window` are zeros with tags `missing`; nothing slips. In
frames, where one channel lacks a packet, all channels of these spectra are missing, unless
there are `masks` on port 1, which flag the one channel. A packet far from the others moves
nothing: only when the last `confirm` packets of a sender all lie at another place, and nobody
else sends to the old one, does the stream go on there, with zeros in between if it is ahead by
up to `most_gap` seconds, or with a new rx_time.

Each second (`status_interval`) port `status` has the event `counts`: see counts().
)doc",
                                      "    RuntimeError: an address cannot be bound, a "
                                      "transport cannot be had, or a file "
                                      "cannot be read\n")
        .def("counts",
             &block::counts,
             R"doc(Returns the packets since the start, by their fate.

`received` is the sum of `used`, `repeated` (were there already), `late` (behind the window),
`stray` (far from it), `overrun` (the flowgraph was too slow), `wrong` (a length or header that
cannot be), `refused` (of senders that are not allowed) and `unwanted` (of other streams).
Beyond these, `dropped` never came to it, as a buffer was full, and `passed_over`
were in a file and are no packets to the addresses. `lost` is how many the output lacks, for
whatever reason; `restarts` counts new beginnings of the stream, and `senders` the senders (the
newest 1024 at most).
)doc")
        .def("missing",
             &block::missing,
             "Returns how many samples or spectra each input lacks.")
        .def("clamped",
             &block::clamped,
             "Returns, for each input, the samples of sc8 frames in which -128 became "
             "-127.")
        .def("type",
             &block::type,
             "Returns the type of a sample on the output: fc32, sc16, sc8, sc4, f32, s16 "
             "or s8.")
        .def("socket_buffers",
             &block::socket_buffers,
             "Returns how many bytes the system gave to the socket buffer of each "
             "address.")
        .def("transport",
             &block::transport,
             "Returns how packets come: socket, xdp or dpdk; empty where they are of "
             "files.")
        .def("error",
             &block::error,
             "Says why it ended before its time; empty if it did not.")
        .def("finish", &block::finish, "Ends the stream.");
    m.def("packet_transports",
          &gr::aperture::packet_transports,
          R"doc(Returns the ways in which packets may come, and why each is not there.

An empty reason means that it was built, and that its libraries are there. Rights and cards are
only tried by a packet_source.
)doc");
}
