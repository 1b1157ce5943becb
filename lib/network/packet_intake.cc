/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/packet_intake.h"
#include <algorithm>
#include <array>

namespace gr::aperture::network {

packet_intake::packet_intake(const formats::packet_layout& layout,
                             const formats::packet_settings& settings,
                             const std::vector<int>& streams,
                             const sender_list& senders,
                             packet_window& window)
    : d_layout(layout),
      d_settings(settings),
      d_packet_bytes(size_t(layout.packet_bytes(settings))),
      d_senders(senders),
      d_window(window)
{
    constexpr int most = 65535;
    for (size_t i = 0; i < streams.size(); i++) {
        require(streams[i] >= 0 && streams[i] <= most,
                "streams",
                std::to_string(streams[i]),
                "numbers from 0 to " + std::to_string(most));
        if (size_t(streams[i]) >= d_places.size())
            d_places.resize(size_t(streams[i]) + 1, -1);
        int& place = d_places[size_t(streams[i])];
        require(
            place < 0, "streams", std::to_string(streams[i]) + ", twice", "each once");
        place = int(i);
    }
}

void packet_intake::clear()
{
    for (auto* count :
         { &d_counts.received, &d_counts.refused, &d_counts.wrong, &d_counts.unwanted })
        *count = 0;
}

void packet_intake::take(const datagram* datagrams, size_t count)
{
    std::array<packet, 64> wanted;
    size_t found = 0;
    const auto header_bytes = size_t(d_layout.header_bytes);
    uint64_t refused = 0, wrong = 0, unwanted = 0;
    const auto pass_on = [&] {
        d_window.put(wanted.data(), found);
        found = 0;
    };
    for (size_t i = 0; i < count; i++) {
        const datagram& d = datagrams[i];
        if (!d_senders.has(d.from)) {
            refused++;
            continue;
        }
        formats::packet_header header;
        header.stream = d.address;
        if (d.damaged || d.content.bytes != d_packet_bytes ||
            d.content.first < header_bytes ||
            !d_layout.read(d_settings, d.content.data, header)) {
            wrong++;
            continue;
        }
        const bool known = header.stream >= 0 &&
                           uint64_t(header.stream) < d_places.size() &&
                           d_places[size_t(header.stream)] >= 0;
        if (!known) {
            unwanted++;
            continue;
        }
        wanted[found++] = { d.from,
                            d.arrival,
                            d_places[size_t(header.stream)],
                            header.number,
                            d.content.behind(header_bytes) };
        if (found == wanted.size())
            pass_on();
    }
    if (found > 0)
        pass_on();
    d_counts.received += count;
    d_counts.refused += refused;
    d_counts.wrong += wrong;
    d_counts.unwanted += unwanted;
}

} // namespace gr::aperture::network
