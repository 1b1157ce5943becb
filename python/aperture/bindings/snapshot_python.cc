/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(snapshot.h) */
/* BINDTOOL_HEADER_FILE_HASH(ab48541d05e71bb15d32cb239cde979f) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/snapshot.h>

namespace py = pybind11;

namespace {

//! An item in Python: its bytes belong to the array, which may be written to.
struct python_item {
    explicit python_item(gr::aperture::snapshot::item&& taken) : about(std::move(taken))
    {
        auto* bytes = new std::vector<char>(std::move(about.data));
        const py::capsule owner(
            bytes, [](void* owned) { delete static_cast<std::vector<char>*>(owned); });
        data = py::array_t<uint8_t>(py::ssize_t(bytes->size()),
                                    reinterpret_cast<const uint8_t*>(bytes->data()),
                                    owner);
    }
    gr::aperture::snapshot::item about;
    py::array_t<uint8_t> data;
};

} // namespace

void bind_snapshot(py::module& m)
{
    using block = gr::aperture::snapshot;
    py::module::import("pmt"); // type of the tags

    py::class_<python_item>(m, "snapshot_item", R"doc(An item that snapshot took.

Its `time`, `rate` and `frequency`, by the tags up to it, are None where these say nothing.
)doc")
        .def_readonly("data",
                      &python_item::data,
                      "The bytes of the item, an array of uint8; "
                      "data.view(numpy.complex64) views them as complex samples.")
        .def_property_readonly(
            "serial",
            [](const python_item& i) { return i.about.serial; },
            "Counts the items that the block takes, from 1 on, over all starts.")
        .def_property_readonly(
            "number",
            [](const python_item& i) { return i.about.number; },
            "The index of the item, since the start of the flowgraph.")
        .def_property_readonly(
            "time",
            [](const python_item& i) { return i.about.time; },
            "The time by rx_time and rx_rate: whole seconds (since 1970) and a fraction.")
        .def_property_readonly(
            "rate",
            [](const python_item& i) { return i.about.rate; },
            "rx_rate, items a second.")
        .def_property_readonly(
            "frequency",
            [](const python_item& i) { return i.about.frequency; },
            "rx_freq, Hz.")
        .def_property_readonly(
            "tags",
            [](const python_item& i) { return i.about.tags; },
            "A dictionary of keys and PMT values: the states that hold for the item (see "
            "stream_states), rx_time being that of the item, and the events that are on "
            "it.");

    auto c = bind_block<block>(
        m, "snapshot", R"doc(Copies some items a second of an edge, for displays.

All items are consumed as they come. At most `rate` a second are copied to the host, the newest
ones of what came together; nothing is copied of the others, and the edge never waits for whoever
looks at them. The last item of a stream that ends is taken in any case. One port in, of items of
any size; no port out. Tags: rx_time, rx_rate and rx_freq give time, rate and frequency of an
item; tags that hold until the next one, and those on the item itself, come with it.
)doc");
    c.def(
        "read",
        [](block& b) -> std::optional<python_item> {
            std::optional<block::item> taken;
            {
                const py::gil_scoped_release released;
                taken = b.read();
            }
            if (!taken)
                return {};
            return python_item(std::move(*taken));
        },
        R"doc(Returns the newest item that was taken and has arrived on the host, or None.

It may be called from any thread, also after the end: then it is the last item of the stream.
)doc");
    c.def(
        "read_after",
        [](block& b, uint64_t serial) {
            std::vector<block::item> taken;
            {
                const py::gil_scoped_release released;
                taken = b.read_after(serial);
            }
            std::vector<python_item> items;
            for (auto& item : taken)
                items.emplace_back(std::move(item));
            return items;
        },
        py::arg("serial"),
        "Returns a list of the items among the last `depth` whose serial is above this, "
        "oldest first.");
    c.def("items", &block::items, "Returns the items that came since the start.");
    c.def("taken", &block::taken, "Returns how many of them were taken.");
}
