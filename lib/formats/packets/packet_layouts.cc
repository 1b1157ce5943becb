/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * The table of layouts of packets. A new one is three functions, check(), read() and
 * write(), and a row of the table at the end of this file; docs/packets.md shows how.
 */

#include "formats/packets/packet_layout.h"
#include "formats/vdif/vdif_header.h"

namespace gr::aperture::formats {

namespace {

//! Reads an unsigned number of so many bytes, big-endian.
template <int Bytes>
uint64_t read_big_endian(const uint8_t* from)
{
    uint64_t number = 0;
    for (int i = 0; i < Bytes; i++)
        number = number << 8 | from[i];
    return number;
}

template <int Bytes>
void write_big_endian(uint64_t number, uint8_t* to)
{
    for (int i = Bytes - 1; i >= 0; i--, number >>= 8)
        to[i] = uint8_t(number);
}

// ---- plain: a sequence number of 64 bits, then samples

namespace plain {

constexpr int header_bytes = 8;

void check(const packet_settings&) {}

bool read(const packet_settings&, const uint8_t* packet, packet_header& h)
{
    const uint64_t number = read_big_endian<8>(packet);
    h.number = int64_t(number & ((uint64_t(1) << 62) - 1));
    return number >> 62 == 0;
}

void write(const packet_settings&, const packet_header& h, uint8_t* packet)
{
    write_big_endian<8>(uint64_t(h.number), packet);
}

} // namespace plain

// ---- best2: 48 bits of time and 16 of a channel, then [time][input] of that channel
// (Magro, Zarb Adami and Hickish 2014, arXiv 1412.4907: 64 bits for both)

namespace best2 {

constexpr int header_bytes = 8;

void check(const packet_settings& s)
{
    require(s.sc4 || (s.written == coding::s8 && s.complex),
            "coding",
            name_of(s.written) + (s.complex ? ", complex" : ", real"),
            "sc4, or s8 and complex, in packets of one channel");
}

bool read(const packet_settings& s, const uint8_t* packet, packet_header& h)
{
    // the time is that of the first spectrum, in spectra
    const auto spectrum = int64_t(read_big_endian<6>(packet));
    h.stream = int64_t(read_big_endian<2>(packet + 6));
    h.number = spectrum / s.samples;
    return spectrum % s.samples == 0;
}

void write(const packet_settings& s, const packet_header& h, uint8_t* packet)
{
    write_big_endian<6>(uint64_t(h.number) * uint64_t(s.samples), packet);
    write_big_endian<2>(uint64_t(h.stream), packet + 6);
}

} // namespace best2

// ---- vdif: a VDIF frame with a header of 32 bytes; a stream is a thread

namespace vdif {

constexpr int header_bytes = 32;

int64_t frames_per_second(const packet_settings& s)
{
    return s.rate.numerator / (s.rate.denominator * s.samples);
}

int log2_of(int number)
{
    int log2 = 0;
    while (log2 < 16 && 1 << log2 < number)
        log2++;
    return log2;
}

void check(const packet_settings& s)
{
    const auto w = s.written;
    require(!s.sc4 && (w == coding::offset1 || w == coding::offset2 ||
                       w == coding::offset4 || w == coding::offset8 || w == coding::u16),
            "coding",
            s.sc4 ? "sc4" : name_of(w),
            "offset1, offset2, offset4, u8 or u16, which VDIF has");
    require(s.inputs == 1 << log2_of(s.inputs),
            "inputs",
            std::to_string(s.inputs),
            "a power of two, the channels of a VDIF frame");
    require(s.payload_bytes() % 8 == 0,
            "samples",
            std::to_string(s.samples),
            "so many that a VDIF frame has a multiple of 8 bytes");
    const auto frames = s.packets_per_second();
    require(frames.denominator == 1 && frames.numerator <= 1 << 24,
            "rate",
            std::to_string(s.rate.to_double()),
            "a whole number of VDIF frames a second, at most 2^24");
}

bool read(const packet_settings& s, const uint8_t* packet, packet_header& h)
{
    const auto v = vdif_header::read(packet);
    const int64_t frames = frames_per_second(s);
    h.stream = v.thread;
    h.number = (vdif_header::start_of_epoch(v.epoch) + v.second) * frames + v.frame;
    return !v.invalid && !v.legacy && v.frame < frames &&
           v.frame_bytes == header_bytes + s.payload_bytes() &&
           1 << v.log2_channels == s.inputs && v.complex == s.complex &&
           v.bits == bits_of(s.written);
}

void write(const packet_settings& s, const packet_header& h, uint8_t* packet)
{
    const int64_t frames = frames_per_second(s);
    const int64_t second = h.number / frames;
    vdif_header v;
    while (v.epoch < 63 && vdif_header::start_of_epoch(v.epoch + 1) <= second)
        v.epoch++;
    v.second = second - vdif_header::start_of_epoch(v.epoch);
    v.frame = h.number % frames;
    v.log2_channels = log2_of(s.inputs);
    v.frame_bytes = header_bytes + s.payload_bytes();
    v.complex = s.complex;
    v.bits = bits_of(s.written);
    v.thread = int(h.stream);
    v.write(packet);
    std::memset(packet + vdif_header::bytes, 0, header_bytes - vdif_header::bytes);
}

} // namespace vdif

} // namespace

const std::vector<packet_layout>& packet_layouts()
{
    // name, meaning, bytes of the header, channelised, absolute, the functions
    static const std::vector<packet_layout> table{
        { "plain",
          "a sequence number (64 bits, high byte first), then samples; each address is a "
          "stream",
          plain::header_bytes,
          false,
          false,
          plain::check,
          plain::read,
          plain::write },
        { "best2",
          "the first spectrum's number (48 bits, high byte first) and a channel (16 "
          "bits), "
          "then [time][input] of that channel",
          best2::header_bytes,
          true,
          false,
          best2::check,
          best2::read,
          best2::write },
        { "vdif",
          "a VDIF frame with a header of 32 bytes; each thread is a stream",
          vdif::header_bytes,
          false,
          true,
          vdif::check,
          vdif::read,
          vdif::write },
    };
    return table;
}

} // namespace gr::aperture::formats
