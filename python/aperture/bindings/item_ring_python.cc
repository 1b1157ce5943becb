/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(item_ring.h) */
/* BINDTOOL_HEADER_FILE_HASH(c4956ecab50012dec84c22c319453949) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/item_ring.h>

namespace py = pybind11;

void bind_item_ring(py::module& m)
{
    using block = gr::aperture::item_ring;
    py::module::import("pmt"); // type of the triggers

    using setting = block::setting;
    py::class_<setting>(
        m, "item_ring_setting", R"doc(A setting that tags give: it holds from an item on.

All but `item` and `approximate` are None where tags say nothing.
)doc")
        .def_readonly("item", &setting::item, "The index of the item.")
        .def_readonly(
            "time",
            &setting::time,
            "The time by rx_time and rx_rate: whole seconds (since 1970) and a fraction.")
        .def_readonly("rate", &setting::rate, "The rate by rx_rate, items a second.")
        .def_readonly("frequency", &setting::frequency, "rx_freq, Hz.")
        .def_readonly("bandwidth", &setting::bandwidth, "bandwidth, Hz.")
        .def_readonly("approximate",
                      &setting::approximate,
                      "True if the time is that of the host's clock.");

    auto c = bind_block<block>(
        m,
        "item_ring",
        R"doc(Keeps the newest items of an edge in memory, where other threads read them.

The oldest items are overwritten as new ones come; neither the stream nor the ring waits for a
reader, unless `hold` is set. A read that was overtaken says which of its items were
overwritten. It has one port in, of items of any size, and no port out. voltage_ring is made of
it.

Messages on the port `trigger` are kept, unchecked, until take_triggers() takes them, also those
that come after the stream has ended.
)doc");
    c.def("capacity", &block::capacity, "Returns how many items the ring holds.");
    c.def("longest_read",
          &block::longest_read,
          "Returns how many bytes a read may give at most.");
    c.def("items", &block::items, "Returns the items that came since the start.");
    c.def("oldest", &block::oldest, "Returns the first item that is there.");
    c.def(
        "read",
        [](const py::object& self,
           uint64_t first,
           int64_t count,
           int64_t offset,
           int64_t length) {
            auto& ring = self.cast<block&>();
            block::piece found;
            {
                const py::gil_scoped_release released;
                found = ring.read(first, count, offset, length);
            }
            if (length == 0)
                length = ring.input_signature()->sizeof_stream_item(0) - offset;
            return py::make_tuple(
                py::array_t<uint8_t>(
                    std::vector<py::ssize_t>{ py::ssize_t(found.items), length },
                    reinterpret_cast<const uint8_t*>(found.data),
                    self),
                found.overwritten);
        },
        py::arg("first"),
        py::arg("count"),
        py::arg("offset") = 0,
        py::arg("length") = 0,
        R"doc(Reads items out of the ring and waits for the copy, while the flowgraph goes on.

Args:
    first: index of the first item
    count: items, which have come already
    offset: first byte of each item that is read
    length: bytes of each item that are read; 0: up to the item's end

Returns:
    an array uint8 [item][byte], which is valid until the next read, and how many of its items, the
    first ones, were overwritten before they were read: their bytes mean nothing

Raises:
    ValueError: names what is not allowed
)doc");
    c.def("keep_from",
          &block::keep_from,
          py::arg("item"),
          "Keeps, with `hold`, all items from this one on until another call allows more "
          "to be overwritten; the stream waits for room. At the start, all items are "
          "kept.");
    c.def("settings",
          &block::settings,
          "Returns a list of the settings of the items that are there, each "
          "item_ring_setting up to the next; the first one is of an item at or before "
          "the oldest.");
    c.def(
        "told",
        &block::told,
        "Returns a list of (item, value) of the `settings` tags since the start, of very "
        "many the newest thousand.");
    c.def(
        "missing",
        [](const block& b, uint64_t first, int64_t count) {
            py::list found;
            for (const auto& run : b.missing(first, count))
                found.append(py::make_tuple(run.input, run.first, run.count));
            return found;
        },
        py::arg("first"),
        py::arg("count"),
        "Returns a list of (input, first, count): spectra that `missing` tags name in "
        "some items, counted from the first spectrum of the first item.");
    c.def("take_triggers",
          &block::take_triggers,
          "Returns a list of the messages that came to the port `trigger` since the last "
          "call.");
    c.def("starts", &block::starts, "Returns how often the block was started.");
    c.def(
        "ended", &block::ended, "Returns whether the stream has ended, or was stopped.");
    c.def("has_senders",
          &block::has_senders,
          "Returns whether there are blocks that awaits_triggers() asks about.");
    c.def("awaits_triggers",
          &block::awaits_triggers,
          "Returns whether a block that sends to `trigger` and is connected by streams "
          "with this one's source still runs; True until the stream has ended.");
}
