/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Reads layouts of packets from YAML. Each value is looked at once, with its line, so
 * that an error names the file, the line, the field and what is allowed.
 */

#include "formats/packets/packet_layout.h"
#include <yaml-cpp/yaml.h>
#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

constexpr int most_fields = 256, most_header_bytes = 1024;

//! A value of the file, with its place.
struct value {
    YAML::Node node;
    int line = 1;
    std::string path;
};

class layout_reader
{
public:
    explicit layout_reader(const std::string& source) : d_source(source) {}

    packet_layout read(const std::string& text)
    {
        value top;
        try {
            top.node = YAML::Load(text);
        } catch (const YAML::Exception& error) {
            throw std::invalid_argument(d_source + ":" +
                                        std::to_string(error.mark.line + 1) +
                                        ": not YAML: " + error.msg);
        }
        if (!top.node.IsMap())
            refuse(top, "", "a mapping with packet_layout, header, fields and so on");
        const auto m = members(top,
                               { "packet_layout",
                                 "meaning",
                                 "header",
                                 "byte_order",
                                 "fields",
                                 "channel",
                                 "input",
                                 "time",
                                 "payload" });
        packet_layout layout;
        layout.name = text_of(needed(top, m, "packet_layout", "the layout's name"));
        if (layout.name.empty() || layout.name.size() > 64)
            refuse(m.at("packet_layout"), layout.name, "a name of 1 to 64 letters");
        if (m.count("meaning"))
            layout.meaning = text_of(m.at("meaning"));
        layout.header_bytes = int(whole(
            needed(top, m, "header", "the bytes of the header"), 1, most_header_bytes));
        bool little_endian = false;
        if (m.count("byte_order"))
            little_endian = byte_order(m.at("byte_order"));
        read_fields(
            needed(top, m, "fields", "the fields of the header"), little_endian, layout);
        if (m.count("channel"))
            layout.channel = field_of(m.at("channel"), layout);
        if (m.count("input")) {
            layout.input_is_address = text_of(m.at("input")) == "address";
            if (!layout.input_is_address)
                layout.input = field_of(m.at("input"), layout, "address, or ");
        }
        read_time(needed(top, m, "time", "which field counts"), layout);
        read_payload(needed(top, m, "payload", "the order of its axes"), layout);
        return layout;
    }

private:
    using mapping = std::map<std::string, value>;

    [[noreturn]] void
    refuse(const value& at, const std::string& shown, const std::string& allowed) const
    {
        throw std::invalid_argument(d_source + ":" + std::to_string(at.line) + ": " +
                                    (at.path.empty() ? "the file" : at.path) + ": " +
                                    (shown.empty() ? "this" : shown.substr(0, 80)) +
                                    " is not allowed; it must be " + allowed);
    }

    mapping members(const value& from, const std::set<std::string>& allowed) const
    {
        std::string names;
        for (const auto& name : allowed)
            names += (names.empty() ? "" : ", ") + name;
        if (!from.node.IsMap())
            refuse(from,
                   from.node.IsScalar() ? from.node.Scalar() : "a list",
                   "a mapping of " + (allowed.empty() ? "names" : names));
        mapping found;
        for (const auto& entry : from.node) {
            value v{ entry.second, entry.first.Mark().line + 1, from.path };
            const std::string name =
                entry.first.IsScalar() ? entry.first.Scalar() : "a key that is no name";
            if (!allowed.empty() && !allowed.count(name))
                refuse(v, name, "one of " + names);
            v.path += (from.path.empty() ? "" : ".") + name;
            if (!found.emplace(name, v).second)
                refuse(v, "given twice, which", "given once");
        }
        return found;
    }

    const value& needed(const value& in,
                        const mapping& m,
                        const std::string& name,
                        const std::string& meaning) const
    {
        const auto found = m.find(name);
        if (found == m.end())
            throw std::invalid_argument(d_source + ":" + std::to_string(in.line) + ": " +
                                        in.path + (in.path.empty() ? "" : ".") + name +
                                        " is missing: " + meaning);
        return found->second;
    }

    std::string text_of(const value& v) const
    {
        if (!v.node.IsScalar())
            refuse(v, v.node.IsNull() ? "nothing" : "a list or mapping", "a text");
        return v.node.Scalar();
    }

    int64_t whole(const value& v, int64_t low, int64_t high) const
    {
        const std::string text = text_of(v);
        int64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, number);
        if (read.ec != std::errc() || read.ptr != end || number < low || number > high)
            refuse(v,
                   text,
                   "a whole number from " + std::to_string(low) + " to " +
                       std::to_string(high));
        return number;
    }

    //! Returns the place of a text among those that are allowed.
    size_t choice(const value& v, const std::vector<std::string>& texts) const
    {
        const std::string text = text_of(v);
        const auto found = std::find(texts.begin(), texts.end(), text);
        std::string names;
        for (size_t i = 0; i < texts.size(); i++)
            names += (i == 0 ? "" : i + 1 == texts.size() ? " or " : ", ") + texts[i];
        if (found == texts.end())
            refuse(v, text, names);
        return size_t(found - texts.begin());
    }

    bool yes(const value& v) const { return choice(v, { "no", "yes" }); }
    bool byte_order(const value& v) const { return choice(v, { "big", "little" }); }

    std::vector<value> list(const value& v) const
    {
        if (!v.node.IsSequence())
            refuse(v, v.node.IsScalar() ? v.node.Scalar() : "a mapping", "a list");
        std::vector<value> all;
        for (const auto& node : v.node)
            all.push_back({ node,
                            node.Mark().line + 1,
                            v.path + "[" + std::to_string(all.size()) + "]" });
        return all;
    }

    void read_fields(const value& from, bool little_endian, packet_layout& layout) const
    {
        std::vector<std::string> owners(8 * size_t(layout.header_bytes));
        for (const auto& [name, v] : members(from, {})) {
            const header_field f = read_field(name, v, little_endian, layout);
            for (int bit = f.lowest_bit; bit < f.lowest_bit + f.bits; bit++) {
                const int byte =
                    f.offset + (f.little_endian ? bit / 8 : f.width - 1 - bit / 8);
                std::string& owner = owners[size_t(8 * byte + bit % 8)];
                if (!owner.empty())
                    refuse(v,
                           "a field with bits of " + owner + ", in byte " +
                               std::to_string(byte) + ",",
                           "apart from other fields");
                owner = name;
            }
            layout.fields.push_back(f);
        }
        if (layout.fields.empty() || layout.fields.size() > most_fields)
            refuse(from,
                   std::to_string(layout.fields.size()) + " fields",
                   "1 to " + std::to_string(most_fields));
        std::stable_sort(layout.fields.begin(),
                         layout.fields.end(),
                         [](const header_field& a, const header_field& b) {
                             return std::make_pair(a.offset, -a.lowest_bit) <
                                    std::make_pair(b.offset, -b.lowest_bit);
                         });
    }

    header_field read_field(const std::string& name,
                            const value& from,
                            bool little_endian,
                            const packet_layout& layout) const
    {
        const auto m = members(from,
                               { "offset",
                                 "width",
                                 "byte_order",
                                 "bits",
                                 "value",
                                 "log2",
                                 "unit",
                                 "add",
                                 "checked" });
        header_field f;
        f.name = name;
        f.offset = int(whole(needed(from, m, "offset", "bytes from the packet's first"),
                             0,
                             layout.header_bytes - 1));
        const auto& width = needed(from, m, "width", "bytes of the field, 1 to 8");
        f.width = int(whole(width, 1, 8));
        if (f.offset + f.width > layout.header_bytes)
            refuse(width,
                   std::to_string(f.width) + " bytes from " + std::to_string(f.offset),
                   "within the header of " + std::to_string(layout.header_bytes) +
                       " bytes");
        f.little_endian =
            m.count("byte_order") ? byte_order(m.at("byte_order")) : little_endian;
        f.bits = 8 * f.width;
        if (m.count("bits"))
            read_bits(m.at("bits"), f);
        for (const char* key : { "log2", "unit", "add", "checked" })
            if (m.count(key) && !m.count("value"))
                refuse(m.at(key), "this without value", "beside a value");
        if (m.count("value"))
            read_value(m.at("value"), f);
        if (m.count("log2"))
            f.log2 = yes(m.at("log2"));
        if (m.count("unit"))
            f.unit = whole(m.at("unit"), 1, 1 << 20);
        if (m.count("add"))
            f.add = whole(m.at("add"), -(1 << 20), 1 << 20);
        if (m.count("checked"))
            f.checked = yes(m.at("checked"));
        return f;
    }

    //! Reads a bit, or a highest and a lowest one: "31", "29-0".
    void read_bits(const value& v, header_field& f) const
    {
        const std::string text = text_of(v);
        const int most = 8 * f.width - 1;
        int high = -1, low = -1;
        const char* const end = text.data() + text.size();
        auto read = std::from_chars(text.data(), end, high);
        low = high;
        if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
            read = std::from_chars(read.ptr + 1, end, low);
        if (read.ec != std::errc() || read.ptr != end || low < 0 || high < low ||
            high > most)
            refuse(v,
                   text,
                   "a bit, or the highest and the lowest one, as 7-4, from " +
                       std::to_string(most) + " to 0, which is the lowest");
        f.lowest_bit = low;
        f.bits = high - low + 1;
    }

    void read_value(const value& v, header_field& f) const
    {
        static const std::vector<std::string> names{
            "channels",     "inputs",        "samples",      "bits",      "complex",
            "packet_bytes", "payload_bytes", "all_channels", "all_inputs"
        };
        const std::string text = text_of(v);
        const auto found = std::find(names.begin(), names.end(), text);
        if (found != names.end()) {
            f.value = quantity(int(quantity::channels) + int(found - names.begin()));
            return;
        }
        f.value = quantity::number;
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, f.number);
        std::string all;
        for (const auto& name : names)
            all += ", " + name;
        if (read.ec != std::errc() || read.ptr != end || f.number < 0 ||
            (f.bits < 63 && f.number >> f.bits))
            refuse(v,
                   text,
                   "a number of " + std::to_string(f.bits) + " bits, or one of" +
                       all.substr(1));
    }

    int field_of(const value& v,
                 const packet_layout& layout,
                 const std::string& others = "") const
    {
        const std::string text = text_of(v);
        std::string names;
        for (size_t i = 0; i < layout.fields.size(); i++) {
            if (layout.fields[i].name == text) {
                if (layout.fields[i].value != quantity::none)
                    refuse(v, text, "a field without a value, as it differs");
                if (!d_taken.insert(text).second)
                    refuse(v, text, "a field that is nothing else yet");
                return int(i);
            }
            names += (i ? ", " : "") + layout.fields[i].name;
        }
        refuse(v, text, others + "a field: " + names);
    }

    void read_time(const value& from, packet_layout& layout) const
    {
        using beginning = packet_layout::beginning;
        const auto m = members(
            from, { "counter", "counts", "first", "begins", "seconds", "half_years" });
        layout.counter = field_of(needed(from, m, "counter", "a field"), layout);
        const auto& counts = needed(from, m, "counts", "packets or samples");
        layout.counts_samples = choice(counts, { "packets", "samples" });
        if (m.count("first"))
            layout.first = whole(m.at("first"), 0, 1 << 20);
        if (m.count("begins"))
            layout.begins = beginning(
                choice(m.at("begins"), { "with_sender", "each_second", "at_seconds" }));
        if (layout.begins == beginning::with_sender) {
            for (const char* key : { "seconds", "half_years" })
                if (m.count(key))
                    refuse(m.at(key),
                           "this",
                           "where the counter begins each_second or at_seconds");
            return;
        }
        layout.seconds =
            field_of(needed(from, m, "seconds", "a field of whole seconds"), layout);
        if (m.count("half_years")) {
            layout.half_years = field_of(m.at("half_years"), layout);
            if (layout.fields[size_t(layout.half_years)].bits > 6)
                refuse(m.at("half_years"), text_of(m.at("half_years")), "of 6 bits");
        }
    }

    void read_payload(const value& from, packet_layout& layout) const
    {
        const auto m = members(
            from, { "order", "codings", "complex", "channels", "samples", "inputs" });
        const auto& order = needed(from, m, "order", "its axes, the slowest first");
        for (const auto& v : list(order)) {
            const auto a = axis(choice(v, { "channel", "time", "input" }));
            if (std::count(layout.order.begin(), layout.order.end(), a))
                refuse(v, text_of(v), "there once");
            layout.order.push_back(a);
        }
        const bool samples = !layout.channelised();
        if (samples ? layout.order != std::vector<axis>{ axis::time, axis::input }
                    : layout.order.size() != 3)
            refuse(order,
                   "this order",
                   samples ? "[time, input], where no field is the channel"
                           : "channel, time and input, in any order");
        if (m.count("codings"))
            for (const auto& v : list(m.at("codings"))) {
                packet_settings s;
                try {
                    set_coding(s, v.path, text_of(v));
                } catch (const std::invalid_argument& error) {
                    throw std::invalid_argument(d_source + ":" + std::to_string(v.line) +
                                                ": " + error.what());
                }
                layout.codings.push_back(text_of(v));
            }
        if (m.count("complex"))
            layout.complex = yes(m.at("complex"));
        if (m.count("channels")) {
            if (samples)
                refuse(m.at("channels"), "this", "there where a field is the channel");
            layout.channels = int(whole(m.at("channels"), 1, 65536));
        }
        if (m.count("samples"))
            layout.samples = int(whole(m.at("samples"), 1, 1 << 20));
        if (m.count("inputs"))
            layout.inputs = int(whole(m.at("inputs"), 1, 65536));
    }

    const std::string d_source;
    mutable std::set<std::string>
        d_taken; //!< fields that are a channel, an input, a time
};

} // namespace

packet_layout read_packet_layout(const std::string& source, const std::string& text)
{
    try {
        return layout_reader(source).read(text);
    } catch (const YAML::Exception& error) {
        throw std::invalid_argument(source + ":" + std::to_string(error.mark.line + 1) +
                                    ": not a layout: " + error.msg);
    }
}

} // namespace gr::aperture::formats
