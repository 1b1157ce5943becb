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
/* BINDTOOL_HEADER_FILE_HASH(b965b295003ffcdd04071b70366cb5bd) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/item_ring.h>

namespace py = pybind11;

void bind_item_ring(py::module& m)
{
    using block = gr::aperture::item_ring;
    py::module::import("pmt"); // of the triggers

    using setting = block::setting;
    py::class_<setting>(
        m, "item_ring_setting", R"doc(What the tags say of an item and those behind it.

Each but `item` and `approximate` is None where they say nothing.
)doc")
        .def_readonly("item", &setting::item, "The number of the item.")
        .def_readonly(
            "time",
            &setting::time,
            "By rx_time and rx_rate: whole seconds (since 1970) and a fraction.")
        .def_readonly("rate", &setting::rate, "rx_rate, items a second.")
        .def_readonly("frequency", &setting::frequency, "rx_freq, Hz.")
        .def_readonly("bandwidth", &setting::bandwidth, "bandwidth, Hz.")
        .def_readonly("approximate",
                      &setting::approximate,
                      "Whether the time is that of the host's clock.");

    auto c = bind_block<block>(
        m,
        "item_ring",
        R"doc(Keeps the newest items of an edge in memory, from which others read them.

The oldest items are overwritten as new ones come; neither the stream nor the ring waits for a
reader, unless `hold` is set. A read that was overtaken says which of its items were overwritten.
One port in, of items of any size; no port out. It is what voltage_ring is made of.

Messages on the port `trigger` are kept, unchecked, until take_triggers() takes them, also those
that come after the stream has ended.
)doc");
    c.def("capacity", &block::capacity, "Items that the ring holds.");
    c.def("longest_read", &block::longest_read, "Bytes that a read may give at most.");
    c.def("items", &block::items, "Items that came since the start.");
    c.def("oldest", &block::oldest, "The first item that is there.");
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
        R"doc(Reads items out of the ring, which waits for the copy, while the chain goes on.

Args:
    first: number of the first item
    count: items, which have come already
    offset: of the bytes of each item that are read
    length: so many of them; 0: up to the item's end

Returns:
    an array uint8 [item][byte], which is good until the next read, and how many of its items, the
    first ones, were overwritten before they were read: their bytes mean nothing

Raises:
    ValueError: names what is not allowed
)doc");
    c.def("keep_from",
          &block::keep_from,
          py::arg("item"),
          "With `hold`: no item from this one on is overwritten until another call says "
          "so, "
          "and the stream waits for room. At the start, all items are kept.");
    c.def("settings",
          &block::settings,
          "A list of what the tags say of the items that are there, each "
          "item_ring_setting up "
          "to the next; the first one is of an item at or before the oldest.");
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
        "A list of (input, first, count): spectra that `missing` tags name in some "
        "items, "
        "counted from the first one's first.");
    c.def("take_triggers",
          &block::take_triggers,
          "A list of the messages that came to the port `trigger` since the last call.");
    c.def("starts", &block::starts, "How often it was started.");
    c.def("ended", &block::ended, "Whether the stream has ended, or was stopped.");
    c.def("has_senders",
          &block::has_senders,
          "Whether there are blocks that awaits_triggers() asks about.");
    c.def("awaits_triggers",
          &block::awaits_triggers,
          "Whether a block that sends to `trigger` and is connected by streams with this "
          "one's source still runs; True until the stream has ended.");
}
