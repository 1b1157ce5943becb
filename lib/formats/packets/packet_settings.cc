/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/packets/packet_settings.h"
#include <numeric>
#include <stdexcept>

namespace gr::aperture::formats {

ratio packet_settings::packets_per_second() const
{
    const int64_t common = std::gcd(rate.numerator, int64_t(samples));
    return { rate.numerator / common, rate.denominator * (samples / common) };
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
