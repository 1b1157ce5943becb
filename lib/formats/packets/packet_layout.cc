/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/packets/packet_layout.h"
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

constexpr int64_t most_bytes = 65507;           // bytes of a UDP datagram over IPv4
constexpr int64_t most_bytes_of_file = 1 << 16; // bytes of a layout

//! Texts of the files in layouts/, which the build makes of them.
const char* const built_in[] = {
#include <built_in_layouts.inc>
};

bool ends_with(const std::string& text, const std::string& end)
{
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string names_of_layouts()
{
    std::string names;
    for (const auto& layout : packet_layouts())
        names += layout.name + ", ";
    return names + "or a file that ends with .yml";
}

packet_layout read_file(const std::string& parameter, const std::string& name)
{
    struct stat found;
    const auto refuse = [&](const std::string& why) {
        throw std::invalid_argument(parameter + ": " + name + ": " + why);
    };
    if (::stat(name.c_str(), &found) != 0)
        refuse(std::strerror(errno));
    // a pipe would wait for somebody to write
    if (!S_ISREG(found.st_mode))
        refuse("not a file");
    if (found.st_size > most_bytes_of_file)
        refuse("a layout has at most " + std::to_string(most_bytes_of_file) + " bytes");
    std::ifstream file(name, std::ios::binary);
    const std::string text{ std::istreambuf_iterator<char>(file), {} };
    if (!file)
        refuse("cannot be read");
    return read_packet_layout(name, text);
}

//! Takes what a layout says of a payload, or refuses another number.
void fit(
    const packet_layout& layout, const char* parameter, int& given, int said, int most)
{
    if (said && !given)
        given = said;
    if (said)
        require(given == said,
                parameter,
                std::to_string(given),
                std::to_string(said) + " (or 0), as layout " + layout.name + " says");
    require_range(parameter, given, 1, most);
}

} // namespace

const std::vector<packet_layout>& packet_layouts()
{
    static const auto made = [] {
        std::vector<packet_layout> all;
        for (const char* text : built_in)
            all.push_back(read_packet_layout("a layout that is built in", text));
        return all;
    }();
    return made;
}

packet_layout find_packet_layout(const std::string& parameter, const std::string& name)
{
    for (const auto& layout : packet_layouts())
        if (layout.name == name)
            return layout;
    if (name.find('/') != std::string::npos || ends_with(name, ".yml") ||
        ends_with(name, ".yaml"))
        return read_file(parameter, name);
    require(false, parameter, name, names_of_layouts());
    return {};
}

void complete_settings(const packet_layout& layout, packet_settings& s)
{
    if (!layout.channels && !s.channels)
        s.channels = 1;
    require(layout.channelised() || s.channels == 1,
            "channels",
            std::to_string(s.channels),
            "0 or 1, as packets of layout " + layout.name + " have samples");
    fit(layout, "samples", s.samples, layout.samples, 1 << 20);
    fit(layout, "inputs", s.inputs, layout.inputs, 65536);
    fit(layout, "channels", s.channels, layout.channels, 65536);
    std::string allowed;
    bool found = layout.codings.empty();
    for (const auto& name : layout.codings) {
        packet_settings other = s;
        set_coding(other, "codings", name);
        found |= s.sc4 == other.sc4 && (s.sc4 || s.written == other.written);
        allowed += (allowed.empty() ? "" : " or ") + name;
    }
    const std::string coding = s.sc4 ? "sc4" : name_of(s.written);
    require(found, "coding", coding, allowed + ", as layout " + layout.name + " says");
    require(!layout.complex || *layout.complex == s.is_complex(),
            "complex",
            s.is_complex() ? "true" : "false",
            std::string(s.is_complex() ? "false" : "true") + ", as layout " +
                layout.name + " says");
    require(!layout.channelised() || s.sc4 || (s.written == coding::s8 && s.complex),
            "coding",
            coding + (s.complex ? ", complex" : ", real"),
            "sc4, or s8 and complex, in packets of channels");
    const int64_t bits = s.all_samples() * s.bits_of_sample();
    require(bits % 8 == 0 && layout.header_bytes + bits / 8 <= most_bytes,
            "samples",
            std::to_string(s.samples),
            "so many that a packet has whole bytes, at most " +
                std::to_string(most_bytes) + " with its header (it has " +
                std::to_string(bits) + " bits behind it)");
}

} // namespace gr::aperture::formats
