/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/pcap_file.h"
#include "stream/packet_plan.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace {

using namespace gr::aperture::formats;

std::string name_of_value(const header_field& f)
{
    switch (f.value) {
    case quantity::none:
        return "";
    case quantity::number:
        return std::to_string(f.number);
    case quantity::channels:
        return "channels";
    case quantity::inputs:
        return "inputs";
    case quantity::samples:
        return "samples";
    case quantity::bits:
        return "bits";
    case quantity::complex:
        return "complex";
    case quantity::packet_bytes:
        return "packet_bytes";
    case quantity::payload_bytes:
        return "payload_bytes";
    case quantity::all_channels:
        return "all_channels";
    case quantity::all_inputs:
        return "all_inputs";
    }
    return "";
}

std::string role_of(const packet_layout& layout, const header_field& f)
{
    const int place = int(&f - layout.fields.data());
    return place == layout.channel      ? "channel"
           : place == layout.input      ? "input"
           : place == layout.counter    ? "counter"
           : place == layout.seconds    ? "seconds"
           : place == layout.half_years ? "half years"
                                        : "";
}

std::vector<std::string> names_of_axes(const packet_layout& layout)
{
    std::vector<std::string> names;
    for (const axis a : layout.order)
        names.push_back(a == axis::channel ? "channel"
                        : a == axis::time  ? "time"
                                           : "input");
    return names;
}

py::dict dict_of(const packet_layout& layout)
{
    py::list fields;
    for (const auto& f : layout.fields) {
        py::dict d;
        d["name"] = f.name;
        d["offset"] = f.offset;
        d["width"] = f.width;
        d["byte_order"] = f.little_endian ? "little" : "big";
        d["lowest_bit"] = f.lowest_bit;
        d["bits"] = f.bits;
        d["value"] = name_of_value(f);
        d["log2"] = f.log2;
        d["unit"] = f.unit;
        d["add"] = f.add;
        d["checked"] = f.checked;
        d["role"] = role_of(layout, f);
        fields.append(d);
    }
    py::dict d;
    d["name"] = layout.name;
    d["meaning"] = layout.meaning;
    d["header_bytes"] = layout.header_bytes;
    d["fields"] = fields;
    d["channelised"] = layout.channelised();
    d["input_is_address"] = layout.input_is_address;
    d["counts"] = layout.counts_samples ? "samples" : "packets";
    d["first"] = layout.first;
    d["begins"] = layout.begins == packet_layout::beginning::with_sender ? "with_sender"
                  : layout.absolute()                                    ? "each_second"
                                                                         : "at_seconds";
    d["order"] = names_of_axes(layout);
    d["codings"] = layout.codings;
    d["complex"] = layout.complex ? py::cast(*layout.complex) : py::object(py::none());
    d["channels"] = layout.channels;
    d["samples"] = layout.samples;
    d["inputs"] = layout.inputs;
    return d;
}

py::object header_of(const header_table& table, const py::bytes& packet, int address)
{
    const std::string bytes = packet;
    packet_header h;
    h.input = address;
    if (bytes.size() < table.header_bytes() ||
        !table.read(reinterpret_cast<const uint8_t*>(bytes.data()), h))
        return py::none();
    py::dict d;
    d["channel"] = h.channel;
    d["input"] = h.input;
    d["number"] = h.number;
    d["epoch"] = h.epoch;
    return d;
}

py::tuple packets_of(const std::string& filename, int64_t most)
{
    gr::aperture::network::pcap_reader reader(filename);
    gr::aperture::network::captured c;
    const auto bytes_of = [](const auto& sender) {
        return py::bytes(reinterpret_cast<const char*>(sender.address.data()),
                         sender.address.size());
    };
    py::list packets;
    for (; most > 0 && reader.next(c); most--)
        packets.append(
            py::make_tuple(c.arrival,
                           bytes_of(c.from),
                           c.from.port,
                           py::bytes(reinterpret_cast<const char*>(c.data), c.bytes),
                           c.cut));
    return py::make_tuple(packets, reader.error(), reader.others());
}

} // namespace

void bind_packet_layouts(py::module& m)
{
    py::module layouts = m.def_submodule(
        "packet_layouts", "Layouts of packets, as packet_source reads them.");
    layouts.def(
        "names",
        [] {
            std::vector<std::string> names;
            for (const auto& layout : packet_layouts())
                names.push_back(layout.name);
            return names;
        },
        "Returns the names of the layouts that are built in.");
    layouts.def(
        "find",
        [](const std::string& name) {
            return dict_of(find_packet_layout("layout", name));
        },
        py::arg("name"),
        R"doc(Returns a layout as a dictionary: that of a name, or of a YAML file.

Raises ValueError, which names the file, the line, the field and what is allowed.
)doc");
    layouts.def("packets_of",
                &packets_of,
                py::arg("filename"),
                py::arg("most"),
                R"doc(Returns the first UDP datagrams of a file of captured packets.

These are [(arrival in ns since 1970, address of the sender, 16 bytes as of IPv6, its port, bytes,
whether only a part was captured)], then what is wrong with the file, or "", and how many other
packets there were. Raises RuntimeError that names the file.
)doc");
    py::class_<header_table>(layouts, "HeaderTable", R"doc(Reads the headers of packets.

layout: a name or a file; samples, inputs, channels: of a packet, 0: as the layout says; rate:
samples a second. Raises ValueError that names the parameter, its value and what is allowed.
)doc")
        .def(py::init([](const std::string& name,
                         int samples,
                         int inputs,
                         int channels,
                         const std::string& coding,
                         bool complex,
                         double rate) {
                 return gr::aperture::plan_packets({ name,
                                                     {},
                                                     coding,
                                                     complex,
                                                     samples,
                                                     inputs,
                                                     channels,
                                                     {},
                                                     {},
                                                     rate,
                                                     0,
                                                     0,
                                                     0,
                                                     1 })
                     .headers();
             }),
             py::arg("layout"),
             py::arg("samples") = 0,
             py::arg("inputs") = 0,
             py::arg("channels") = 0,
             py::arg("coding") = "s8",
             py::arg("complex") = true,
             py::arg("rate") = 1.0)
        .def_property_readonly("header_bytes", &header_table::header_bytes)
        .def_property_readonly("packet_bytes", &header_table::packet_bytes)
        .def("read",
             &header_of,
             py::arg("packet"),
             py::arg("address") = 0,
             R"doc(Returns {"channel", "input", "number", "epoch"} of a packet's header.

None where it makes no sense: a field has another value than the layout says. address: index of
the one that it came to, which is the input where headers name none.
)doc");
}
