/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/packets/header_table.h"
#include "formats/vdif/vdif_header.h"
#include <algorithm>
#include <array>
#include <stdexcept>

namespace gr::aperture::formats {

// fields are cut out of words of 8 bytes, as this processor reads them
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

namespace {

constexpr size_t word_bytes = 8;
constexpr uint64_t most_seconds = uint64_t(1) << 36; // the year 4147
constexpr int half_years_known = 64;

const std::array<int64_t, half_years_known>& starts_of_half_years()
{
    static const auto made = [] {
        std::array<int64_t, half_years_known> starts;
        for (int i = 0; i < half_years_known; i++)
            starts[size_t(i)] = vdif_header::start_of_epoch(i);
        return starts;
    }();
    return made;
}

//! The parameter of a source that a quantity follows from, and the quantity itself.
struct source_of_value {
    const char* parameter;
    int64_t value;
};

source_of_value value_of(const header_field& f,
                         const packet_settings& s,
                         int64_t header_bytes,
                         int channel_groups,
                         int input_groups)
{
    switch (f.value) {
    case quantity::channels:
        return { "channels", s.channels };
    case quantity::inputs:
        return { "inputs", s.inputs };
    case quantity::samples:
        return { "samples", s.samples };
    case quantity::bits:
        return { "coding", s.bits_of_component() };
    case quantity::complex:
        return { "complex", s.is_complex() };
    case quantity::packet_bytes:
        return { "samples", header_bytes + s.payload_bytes() };
    case quantity::payload_bytes:
        return { "samples", s.payload_bytes() };
    case quantity::all_channels:
        return { "streams", int64_t(s.channels) * channel_groups };
    case quantity::all_inputs:
        return { "input_groups", int64_t(s.inputs) * input_groups };
    default:
        return { "layout", f.number };
    }
}

int log2_of(int64_t number)
{
    int log2 = 0;
    while (log2 < 62 && int64_t(1) << log2 < number)
        log2++;
    return log2;
}

uint64_t mask_of(int bits) { return ~uint64_t(0) >> (64 - bits); }

//! Returns what a field has in all packets of these settings.
uint64_t constant_of(const packet_layout& layout,
                     const header_field& f,
                     const source_of_value& said)
{
    const auto refuse = [&](bool ok, const std::string& rule) {
        require(ok,
                said.parameter,
                std::to_string(said.value),
                rule + " (field `" + f.name + "` of layout " + layout.name + ")");
    };
    int64_t value = said.value;
    if (f.log2) {
        value = log2_of(said.value);
        refuse(said.value == int64_t(1) << value, "a power of two");
    }
    refuse(value % f.unit == 0, "a multiple of " + std::to_string(f.unit));
    value = value / f.unit + f.add;
    refuse(value >= 0 && uint64_t(value) <= mask_of(f.bits),
           "such that " + std::to_string(f.bits) + " bits are enough");
    return uint64_t(value);
}

} // namespace

void header_table::slot::write(uint64_t value, uint8_t* packet) const
{
    if (mask == 0)
        return;
    uint64_t word;
    std::memcpy(&word, packet + at, sizeof word);
    word = big_endian ? __builtin_bswap64(word) : word;
    word = (word & ~(mask << shift)) | (value & mask) << shift;
    word = big_endian ? __builtin_bswap64(word) : word;
    std::memcpy(packet + at, &word, sizeof word);
}

header_table::slot header_table::slot_of(const packet_layout& layout, int field) const
{
    slot s;
    if (field < 0)
        return s;
    const auto& f = layout.fields[size_t(field)];
    // the last 8 bytes of the header that have the field; shorter headers are copied
    const int last = std::max(0, int(d_header_bytes) - int(word_bytes));
    s.at = std::min(f.offset, last);
    const int before = f.offset - s.at;
    s.big_endian = !f.little_endian;
    s.shift = f.lowest_bit +
              8 * (f.little_endian ? before : int(word_bytes) - before - f.width);
    s.mask = mask_of(f.bits);
    return s;
}

header_table::header_table(const packet_layout& layout,
                           const packet_settings& settings,
                           int channel_groups,
                           int input_groups)
    : d_header_bytes(size_t(layout.header_bytes)),
      d_packet_bytes(d_header_bytes + size_t(settings.payload_bytes())),
      d_input_is_address(layout.input_is_address),
      d_begins(layout.begins),
      d_channel(slot_of(layout, layout.channel)),
      d_input(slot_of(layout, layout.input)),
      d_counter(slot_of(layout, layout.counter)),
      d_seconds(slot_of(layout, layout.seconds)),
      d_half_years(slot_of(layout, layout.half_years)),
      d_first(uint64_t(layout.first)),
      d_unit(layout.counts_samples ? settings.samples : 1),
      d_constants(std::max(d_header_bytes, word_bytes))
{
    if ((d_unit & (d_unit - 1)) == 0)
        d_unit_shift = log2_of(d_unit);
    for (size_t i = 0; i < layout.fields.size(); i++) {
        const auto& f = layout.fields[i];
        if (f.value == quantity::none)
            continue;
        const slot s = slot_of(layout, int(i));
        const uint64_t value = constant_of(
            layout,
            f,
            value_of(f, settings, layout.header_bytes, channel_groups, input_groups));
        s.write(value, d_constants.data());
        if (!f.checked)
            continue;
        uint64_t mask = s.mask << s.shift, expected = value << s.shift;
        if (s.big_endian) {
            mask = __builtin_bswap64(mask);
            expected = __builtin_bswap64(expected);
        }
        // fields that are cut out of the same word are compared at once
        const auto same = std::find_if(d_checks.begin(),
                                       d_checks.end(),
                                       [&](const constant& c) { return c.at == s.at; });
        if (same == d_checks.end()) {
            d_checks.push_back({ s.at, mask, expected });
        } else {
            same->mask |= mask;
            same->expected |= expected;
        }
    }
    if (!layout.absolute())
        return;
    const auto packets = settings.packets_per_second();
    const auto& counter = layout.fields[size_t(layout.counter)];
    const uint64_t most = uint64_t(packets.numerator - 1) * uint64_t(d_unit) + d_first;
    require(packets.denominator == 1 && packets.numerator <= 1 << 24 &&
                most <= mask_of(counter.bits),
            "rate",
            std::to_string(settings.rate.to_double()),
            "a whole number of packets a second, at most 2^24, and so few that field `" +
                counter.name + "` of layout " + layout.name + " counts them");
    d_packets_per_second = packets.numerator;
}

bool header_table::read_seconds(const uint8_t* packet, packet_header& h) const
{
    const uint64_t said = d_seconds.read(packet);
    if (said >= most_seconds)
        return false;
    auto seconds = int64_t(said);
    if (d_half_years.mask)
        seconds += starts_of_half_years()[d_half_years.read(packet)];
    if (d_begins == packet_layout::beginning::at_seconds) {
        h.epoch = seconds;
        return true;
    }
    const bool within = h.number < d_packets_per_second;
    h.number += seconds * d_packets_per_second;
    return within;
}

void header_table::write(const packet_header& h, uint8_t* packet) const
{
    uint8_t all[word_bytes];
    uint8_t* const to = d_header_bytes < word_bytes ? all : packet;
    std::memcpy(to, d_constants.data(), d_constants.size());
    d_channel.write(uint64_t(h.channel), to);
    d_input.write(uint64_t(h.input), to);
    int64_t number = h.number, seconds = h.epoch;
    if (d_begins == packet_layout::beginning::each_second) {
        seconds = number / d_packets_per_second;
        number %= d_packets_per_second;
    }
    if (d_half_years.mask) {
        const auto& starts = starts_of_half_years();
        const auto half = std::upper_bound(starts.begin() + 1, starts.end(), seconds) - 1;
        d_half_years.write(uint64_t(half - starts.begin()), to);
        seconds -= *half;
    }
    d_seconds.write(uint64_t(seconds), to);
    d_counter.write(uint64_t(number) * uint64_t(d_unit) + d_first, to);
    if (to == all)
        std::memcpy(packet, all, d_header_bytes);
}

} // namespace gr::aperture::formats
