/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/pcap_file.h"
#include "network/udp_frame.h"
#include <cerrno>
#include <stdexcept>

namespace gr::aperture::network {

namespace {

namespace ip = boost::asio::ip;

constexpr uint32_t microseconds = 0xa1b2c3d4, nanoseconds = 0xa1b23c4d;
constexpr uint32_t section_block = 0x0a0d0d0a, byte_order = 0x1a2b3c4d;
constexpr uint32_t interface_block = 1, simple_block = 3, packet_block = 6;
constexpr size_t most_bytes = 1 << 20; // bytes of a packet or a block
constexpr size_t most_interfaces = 4096;

// link types, as tcpdump.org lists them
constexpr uint32_t link_null = 0, link_ethernet = 1, link_raw_bsd = 12,
                   link_raw_openbsd = 14, link_raw = 101, link_loop = 108,
                   link_cooked = 113, link_ipv4 = 228, link_ipv6 = 229,
                   link_cooked_2 = 276;

void put16(std::vector<uint8_t>& bytes, uint32_t number)
{
    bytes.push_back(uint8_t(number >> 8));
    bytes.push_back(uint8_t(number));
}

void put32_of_host(std::vector<uint8_t>& bytes, uint32_t number)
{
    uint8_t as_bytes[4];
    std::memcpy(as_bytes, &number, sizeof as_bytes);
    bytes.insert(bytes.end(), as_bytes, as_bytes + 4);
}

} // namespace

bool pcap_reader::fail(const std::string& why)
{
    d_error = d_filename + ": " + why;
    return false;
}

bool pcap_reader::read(size_t bytes)
{
    d_bytes.resize(bytes);
    return std::fread(d_bytes.data(), 1, bytes, d_file.get()) == bytes;
}

pcap_reader::pcap_reader(const std::string& filename)
    : d_filename(filename), d_file(std::fopen(filename.c_str(), "rb"), &std::fclose)
{
    if (!d_file)
        throw std::runtime_error(filename +
                                 ": cannot be opened: " + std::strerror(errno));
    std::setvbuf(d_file.get(), nullptr, _IOFBF, 1 << 20);
    const auto refuse = [&] {
        throw std::runtime_error(filename + ": is no file of captured packets (pcap or "
                                            "pcapng)");
    };
    if (!read(4))
        refuse();
    uint32_t magic = u32(0);
    if (magic == section_block) {
        d_next_generation = true;
        // lets the section be read as every other block is
        std::rewind(d_file.get());
        return;
    }
    d_swapped = magic != microseconds && magic != nanoseconds;
    magic = u32(0);
    if ((magic != microseconds && magic != nanoseconds) || !read(20))
        refuse();
    d_interfaces.push_back(
        { u32(16) & 0x0fffffff,
          magic == nanoseconds ? uint64_t(1'000'000'000) : uint64_t(1'000'000) });
}

bool pcap_reader::next_of_pcap(captured& c, uint32_t& link, size_t& begin, size_t& end)
{
    if (!read(16))
        return false;
    const int64_t seconds = u32(0), units = u32(4);
    const size_t bytes = u32(8);
    if (bytes > most_bytes)
        return fail("a packet of " + std::to_string(bytes) + " bytes cannot be");
    c.arrival = seconds * 1'000'000'000 +
                units * int64_t(1'000'000'000 / d_interfaces[0].units_per_second);
    c.cut = u32(12) > bytes;
    link = d_interfaces[0].link;
    begin = 0;
    end = bytes;
    return read(bytes);
}

void pcap_reader::read_interface(size_t end)
{
    interface made
    {
        u16(8), 1'000'000
    };
    // options: code, length, value, padded to 4 bytes; 9 is the resolution of times
    for (size_t at = 16; at + 4 <= end;) {
        const uint16_t code = u16(at), bytes = u16(at + 2);
        if (code == 0 || at + 4 + bytes > end)
            break;
        if (code == 9 && bytes >= 1) {
            const uint8_t power = d_bytes[at + 4];
            const int exponent = power & 0x7f;
            made.units_per_second = 1;
            for (int i = 0; i < exponent && i < (power & 0x80 ? 62 : 18); i++)
                made.units_per_second *= power & 0x80 ? 2 : 10;
        }
        at += 4 + size_t(bytes + 3) / 4 * 4;
    }
    d_interfaces.push_back(made);
}

bool pcap_reader::next_of_pcapng(captured& c, uint32_t& link, size_t& begin, size_t& end)
{
    for (;;) {
        if (!read(8))
            return false;
        const uint32_t type = u32(0); // the type of a section is the same in both orders
        d_swapped = d_swapped && type != section_block;
        uint32_t bytes = u32(4);
        if (type == section_block) {
            if (!read(4))
                return false;
            if (u32(0) != byte_order) {
                d_swapped = true;
                if (u32(0) != byte_order)
                    return fail("a section begins without its byte order");
                bytes = __builtin_bswap32(bytes);
            }
            d_interfaces.clear();
            if (bytes < 28 || bytes > most_bytes || bytes % 4)
                return fail("a section of " + std::to_string(bytes) + " bytes cannot be");
            if (!read(bytes - 12))
                return false;
            continue;
        }
        if (bytes < 12 || bytes > most_bytes || bytes % 4)
            return fail("a block of " + std::to_string(bytes) + " bytes cannot be");
        d_bytes.resize(bytes);
        if (std::fread(d_bytes.data() + 8, 1, bytes - 8, d_file.get()) != bytes - 8)
            return false;
        const size_t body_end = bytes - 4;
        if (type == interface_block && body_end >= 16) {
            if (d_interfaces.size() == most_interfaces)
                return fail("has too many interfaces");
            read_interface(body_end);
        } else if (type == packet_block && body_end >= 28) {
            const uint32_t number = u32(8), taken = u32(20);
            if (number >= d_interfaces.size() || taken > body_end - 28)
                return fail("a packet is larger than its block, or of no interface");
            const auto& i = d_interfaces[number];
            const uint64_t units = uint64_t(u32(12)) << 32 | u32(16);
            const uint64_t rest = units % i.units_per_second;
            c.arrival = int64_t(units / i.units_per_second % (uint64_t(1) << 33)) *
                            1'000'000'000 +
                        int64_t(double(rest) / double(i.units_per_second) * 1e9);
            c.cut = u32(24) > taken;
            link = i.link;
            begin = 28;
            end = begin + taken;
            return true;
        } else if (type == simple_block && body_end >= 12 && !d_interfaces.empty()) {
            c.arrival = 0;
            c.cut = u32(8) > body_end - 12;
            link = d_interfaces[0].link;
            begin = 12;
            end = begin + std::min<size_t>(u32(8), body_end - 12);
            return true;
        }
    }
}

bool pcap_reader::next(captured& c)
{
    if (!d_error.empty())
        return false;
    for (;;) {
        uint32_t link = 0;
        size_t begin = 0, end = 0;
        if (!(d_next_generation ? next_of_pcapng(c, link, begin, end)
                                : next_of_pcap(c, link, begin, end)))
            return false;
        if (decode(c, link, begin, end))
            return true;
    }
}

bool pcap_reader::decode(captured& c, uint32_t link, size_t begin, size_t end)
{
    const byte_view frame = byte_view::of(d_bytes.data() + begin, end - begin);
    udp_frame f;
    auto found = udp_frame::kind::other;
    switch (link) {
    case link_ethernet:
        found = read_ethernet(frame, f);
        break;
    case link_cooked:
        found = read_link(frame, 16, 14, f);
        break;
    case link_cooked_2:
        found = read_link(frame, 20, 0, f);
        break;
    case link_null:
    case link_loop:
        found = read_ip(frame, 4, f);
        break;
    case link_raw:
    case link_raw_bsd:
    case link_raw_openbsd:
    case link_ipv4:
    case link_ipv6:
        found = read_ip(frame, 0, f);
    }
    d_fragments += found == udp_frame::kind::fragment;
    if (found != udp_frame::kind::datagram) {
        d_others++;
        return false;
    }
    c.from = f.from;
    c.to = f.to;
    c.data = frame.data + f.payload;
    c.bytes = std::min(f.bytes, frame.bytes - f.payload);
    c.cut = c.bytes < f.bytes;
    return true;
}

pcap_writer::pcap_writer(const std::string& filename)
    : d_filename(filename), d_file(std::fopen(filename.c_str(), "wb"), &std::fclose)
{
    if (!d_file)
        fail();
    std::setvbuf(d_file.get(), nullptr, _IOFBF, 1 << 20);
    for (const uint32_t word :
         { nanoseconds, uint32_t(4 << 16 | 2), 0u, 0u, 262144u, link_ethernet })
        put32_of_host(d_bytes, word);
    put_bytes();
}

void pcap_writer::fail() const
{
    throw std::runtime_error(d_filename + ": cannot be written: " + std::strerror(errno));
}

void pcap_writer::put_bytes()
{
    if (std::fwrite(d_bytes.data(), 1, d_bytes.size(), d_file.get()) != d_bytes.size())
        fail();
}

void pcap_writer::write(const ip::udp::endpoint& from,
                        const ip::udp::endpoint& to,
                        int64_t time,
                        const uint8_t* data,
                        size_t bytes)
{
    const bool v4 = to.address().is_v4();
    const size_t udp_bytes = 8 + bytes;
    const size_t all = 14 + (v4 ? 20 : 40) + udp_bytes;
    auto& b = d_bytes;
    b.clear();
    put32_of_host(b, uint32_t(time / 1'000'000'000));
    put32_of_host(b, uint32_t(time % 1'000'000'000));
    put32_of_host(b, uint32_t(all));
    put32_of_host(b, uint32_t(all));
    for (const uint8_t last : { 2, 1 }) // invented addresses of Ethernet
        b.insert(b.end(), { 2, 0, 0, 0, 0, last });
    put16(b, v4 ? 0x0800 : 0x86dd);
    const size_t header = b.size();
    const auto put = [&](const auto& bytes) {
        b.insert(b.end(), bytes.begin(), bytes.end());
    };
    uint64_t sum = 0;
    if (v4) {
        b.insert(b.end(), { 0x45, 0 });
        put16(b, uint32_t(20 + udp_bytes));
        b.insert(b.end(), { 0, 0, 0x40, 0, 64, 17, 0, 0 });
        put(from.address().to_v4().to_bytes());
        put(to.address().to_v4().to_bytes());
        const uint16_t check = checksum_of(sum_of_words(&b[header], 20));
        b[header + 10] = uint8_t(check >> 8);
        b[header + 11] = uint8_t(check);
    } else {
        b.insert(b.end(), { 0x60, 0, 0, 0 });
        put16(b, uint32_t(udp_bytes));
        b.insert(b.end(), { 17, 64 });
        put(from.address().to_v6().to_bytes());
        put(to.address().to_v6().to_bytes());
        sum = sum_of_words(&b[header + 8], 32) + udp_bytes + 17;
    }
    const size_t udp = b.size();
    put16(b, from.port());
    put16(b, to.port());
    put16(b, uint32_t(udp_bytes));
    put16(b, 0);
    b.insert(b.end(), data, data + bytes);
    if (!v4) { // IPv4 needs no checksum
        const uint16_t check = checksum_of(sum_of_words(&b[udp], udp_bytes) + sum);
        b[udp + 6] = uint8_t((check ? check : 0xffff) >> 8);
        b[udp + 7] = uint8_t(check ? check : 0xffff);
    }
    put_bytes();
}

void pcap_writer::close()
{
    if (d_file && std::fclose(d_file.release()) != 0)
        fail();
}

} // namespace gr::aperture::network
