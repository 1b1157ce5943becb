/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/udp_frame.h"

namespace gr::aperture::network {

namespace {

constexpr uint8_t protocol_udp = 17;

uint16_t net16(const uint8_t* at) { return uint16_t(at[0] << 8 | at[1]); }

bool is_vlan(uint16_t type)
{
    // 802.1Q and 802.1ad, and those that switches used before the latter
    return type == 0x8100 || type == 0x88a8 || type == 0x9100 || type == 0x9200 ||
           type == 0x9300;
}

void put_v4(std::array<uint8_t, 16>& address, const uint8_t* bytes)
{
    address = {};
    address[10] = address[11] = 0xff;
    std::memcpy(address.data() + 12, bytes, 4);
}

// Returns the sum of the words of the pseudo-header.
uint64_t pseudo_sum(const byte_view& frame, const udp_frame& f)
{
    const uint8_t* const ip = frame.data + f.ip;
    const uint64_t addresses =
        ip[0] >> 4 == 4 ? sum_of_words(ip + 12, 8) : sum_of_words(ip + 8, 32);
    return addresses + protocol_udp + f.bytes + 8;
}

} // namespace

uint64_t sum_of_words(const uint8_t* data, size_t bytes)
{
    // One's complement sums may be taken in any order of bytes and with words of any
    // width: four sums of 32 bits run side by side.
    uint64_t sums[4] = {};
    size_t i = 0;
    for (; i + 16 <= bytes; i += 16) {
        uint32_t words[4];
        std::memcpy(words, data + i, sizeof words);
        for (int k = 0; k < 4; k++)
            sums[k] += words[k];
    }
    uint64_t sum = 0;
    for (const uint64_t one : sums)
        sum += (one & 0xffffffff) + (one >> 32);
    for (; i + 2 <= bytes; i += 2) {
        uint16_t word;
        std::memcpy(&word, data + i, sizeof word);
        sum += word;
    }
    if (i < bytes) {
        const uint8_t last[2] = { data[i], 0 };
        uint16_t word;
        std::memcpy(&word, last, sizeof word);
        sum += word;
    }
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    uint8_t folded[2];
    const auto in_order = uint16_t(sum);
    std::memcpy(folded, &in_order, sizeof folded);
    return net16(folded);
}

uint16_t checksum_of(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return uint16_t(~sum);
}

udp_frame::kind read_ethernet(const byte_view& frame, udp_frame& found)
{
    return read_link(frame, 14, 12, found);
}

udp_frame::kind
read_link(const byte_view& frame, size_t bytes, size_t type_at, udp_frame& found)
{
    if (frame.first < bytes)
        return udp_frame::kind::other;
    uint16_t type = net16(frame.data + type_at);
    size_t at = bytes;
    // tags of VLANs: two bytes of their own, and the type of the rest
    while (is_vlan(type) && frame.first - at >= 4) {
        type = net16(frame.data + at + 2);
        at += 4;
    }
    return type == 0x0800 || type == 0x86dd ? read_ip(frame, at, found)
                                            : udp_frame::kind::other;
}

udp_frame::kind read_ip(const byte_view& frame, size_t at, udp_frame& f)
{
    using kind = udp_frame::kind;
    const size_t here = frame.first;
    if (at >= here)
        return kind::other;
    const uint8_t* const ip = frame.data + at;
    const size_t version = ip[0] >> 4;
    size_t end = 0; // end of the packet of IP, as its header says
    uint8_t protocol = 0;
    f.ip = at;
    f.consistent = true;
    if (version == 4) {
        const size_t header = size_t(ip[0] & 15) * 4;
        if (header < 20 || here - at < header)
            return kind::other;
        if (net16(ip + 6) & 0x3fff)
            return kind::fragment;
        put_v4(f.from.address, ip + 12);
        put_v4(f.to.address, ip + 16);
        protocol = ip[9];
        end = at + net16(ip + 2);
        f.consistent = checksum_of(sum_of_words(ip, header)) == 0;
        at += header;
    } else if (version == 6) {
        if (here - at < 40)
            return kind::other;
        std::memcpy(f.from.address.data(), ip + 8, 16);
        std::memcpy(f.to.address.data(), ip + 24, 16);
        protocol = ip[6];
        end = at + 40 + net16(ip + 4);
        at += 40;
        // further headers: hop by hop, routing, options for the destination
        while (protocol == 0 || protocol == 43 || protocol == 60) {
            if (here - at < 8)
                return kind::other;
            const size_t header = size_t(frame.data[at + 1] + 1) * 8;
            if (here - at < header)
                return kind::other;
            protocol = frame.data[at];
            at += header;
        }
        if (protocol == 44)
            return kind::fragment;
    } else {
        return kind::other;
    }
    if (protocol != protocol_udp || here - at < 8)
        return kind::other;
    const uint8_t* const udp = frame.data + at;
    const size_t length = net16(udp + 4);
    if (length < 8)
        return kind::other;
    f.from.port = net16(udp);
    f.to.port = net16(udp + 2);
    f.payload = at + 8;
    f.bytes = length - 8;
    f.consistent = f.consistent && at + length <= end && end <= frame.bytes;
    return kind::datagram;
}

bool has_right_checksum(const byte_view& frame, const udp_frame& f)
{
    const uint8_t* const udp = frame.data + f.udp();
    const uint16_t given = net16(udp + 6);
    // IPv6 has no datagrams without one
    if (given == 0)
        return frame.data[f.ip] >> 4 == 4;
    const uint64_t pseudo = pseudo_sum(frame, f);
    if (given == uint16_t(~checksum_of(pseudo)))
        return true;
    uint64_t sum = pseudo;
    bool odd = false;
    frame.behind(f.udp()).each(f.bytes + 8, [&](const uint8_t* data, size_t bytes) {
        const uint64_t words = sum_of_words(data, bytes);
        // the bytes of a piece at an odd place are the other ones of their words
        sum += odd ? (words & 0xff) << 8 | words >> 8 : words;
        odd ^= bytes % 2;
    });
    return checksum_of(sum) == 0;
}

address_table::address_table(const std::vector<boost::asio::ip::udp::endpoint>& addresses)
{
    // the first of two that are alike is found
    for (size_t i = 0; i < addresses.size(); i++)
        d_indices.emplace(to_sender(addresses[i]), int(i));
}

int address_table::find(const sender& to) const
{
    auto found = d_indices.find(to);
    if (found == d_indices.end()) {
        sender any;
        any.port = to.port;
        // "0.0.0.0" is this as an address of IPv6
        const std::array<uint8_t, 12> v4 = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
        if (std::equal(v4.begin(), v4.end(), to.address.begin()))
            any.address[10] = any.address[11] = 0xff;
        found = d_indices.find(any);
    }
    return found == d_indices.end() ? -1 : found->second;
}

std::optional<datagram> datagram_of(const byte_view& frame,
                                    const address_table& addresses,
                                    int64_t arrival,
                                    bool checksum_is_known)
{
    udp_frame f;
    if (read_ethernet(frame, f) != udp_frame::kind::datagram)
        return {};
    const int address = addresses.find(f.to);
    if (address < 0)
        return {};
    const bool whole = f.consistent && f.payload + f.bytes <= frame.bytes;
    byte_view content = frame.behind(f.payload);
    content.bytes = std::min(content.bytes, f.bytes);
    content.first = std::min(content.first, f.bytes);
    return datagram{ f.from,
                     arrival,
                     content,
                     !whole || !(checksum_is_known || has_right_checksum(frame, f)),
                     address };
}

} // namespace gr::aperture::network
