/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/packets/packet_layout.h"
#include <numeric>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

constexpr int64_t most_bytes = 65507; // bytes of a UDP datagram over IPv4

} // namespace

ratio packet_settings::packets_per_second() const
{
    const int64_t common = std::gcd(rate.numerator, int64_t(samples));
    return { rate.numerator / common, rate.denominator * (samples / common) };
}

const packet_layout& find_packet_layout(const std::string& parameter,
                                        const std::string& name)
{
    std::string names;
    for (const auto& layout : packet_layouts()) {
        if (layout.name == name)
            return layout;
        names += (names.empty() ? "" : ", ") + std::string(layout.name);
    }
    require(false, parameter, name, "one of " + names);
    return packet_layouts().front();
}

void check_packets(const packet_layout& layout, const packet_settings& s)
{
    require_range("samples", s.samples, 1, 1 << 20);
    require_range("inputs", s.inputs, 1, 65536);
    const int64_t bits = int64_t(s.samples) * s.inputs * s.bits_of_sample();
    require(bits % 8 == 0 && layout.header_bytes + bits / 8 <= most_bytes,
            "samples",
            std::to_string(s.samples),
            "so many that a packet has whole bytes, at most " +
                std::to_string(most_bytes) + " with its header (it has " +
                std::to_string(bits) + " bits behind it)");
    layout.check(s);
}

void set_coding(packet_settings& s, const std::string& parameter, const std::string& name)
{
    s.sc4 = name == "sc4";
    if (s.sc4)
        return;
    try {
        s.written = parse_coding(parameter, name);
        // bytes of packets are offset binary: they hold a signed integer
        if (s.written == coding::u8)
            s.written = coding::offset8;
    } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(std::string(error.what()) + " or sc4");
    }
}

} // namespace gr::aperture::formats
