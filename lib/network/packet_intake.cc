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

namespace {

std::vector<int> places_of(const char* parameter, const std::vector<int>& numbers)
{
    constexpr int most = 65535;
    std::vector<int> places;
    for (size_t i = 0; i < numbers.size(); i++) {
        const std::string text = std::to_string(numbers[i]);
        require(numbers[i] >= 0 && numbers[i] <= most,
                parameter,
                text,
                "numbers from 0 to " + std::to_string(most));
        if (size_t(numbers[i]) >= places.size())
            places.resize(size_t(numbers[i]) + 1, -1);
        int& place = places[size_t(numbers[i])];
        require(place < 0, parameter, text + ", twice", "each once");
        place = int(i);
    }
    return places;
}

int place_of(const std::vector<int>& places, int64_t number)
{
    return number >= 0 && uint64_t(number) < places.size() ? places[size_t(number)] : -1;
}

} // namespace

packet_intake::packet_intake(const formats::header_table& headers,
                             const std::vector<int>& channels,
                             const std::vector<int>& inputs,
                             const sender_list& senders,
                             packet_window& window)
    : d_headers(headers),
      d_senders(senders),
      d_channels(places_of("streams", channels)),
      d_inputs(places_of("streams", inputs)),
      d_groups(int(inputs.size())),
      d_window(window)
{
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
    const size_t header_bytes = d_headers.header_bytes();
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
        header.input = d.address;
        if (d.damaged || d.content.bytes != d_headers.packet_bytes() ||
            d.content.first < header_bytes || !d_headers.read(d.content.data, header)) {
            wrong++;
            continue;
        }
        const int channel = place_of(d_channels, header.channel);
        const int input = place_of(d_inputs, header.input);
        if (channel < 0 || input < 0) {
            unwanted++;
            continue;
        }
        wanted[found++] = { d.from,
                            d.arrival,
                            channel * d_groups + input,
                            header.number,
                            d.content.behind(header_bytes),
                            header.epoch };
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
