/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_PACKETS_HEADER_TABLE_H
#define INCLUDED_APERTURE_FORMATS_PACKETS_HEADER_TABLE_H

#include "formats/packets/packet_layout.h"
#include <cstring>

namespace gr::aperture::formats {

//! The contents of a packet's header.
struct packet_header {
    int64_t channel = 0; //!< number that the header gives its channels
    //! The number that the header gives its inputs. Before a header is read this is the
    //! index of the address that the packet came to.
    int64_t input = 0;
    //! The time of its first sample, in packets of that stream: 0 to below 2^62. All
    //! streams of a source count from the same time.
    int64_t number = 0;
    int64_t epoch = 0; //!< s since 1970, at which `number` was 0, where headers say so
};

/*!
 * The headers of one kind of packets, as a table that was made of a layout and the
 * settings of a source: a field is 8 bytes of the header, a shift and a mask.
 */
class APERTURE_API header_table
{
public:
    /*!
     * \param channel_groups, input_groups packets of one time: channels are spread over
     * so many packets, and inputs \throws std::invalid_argument naming the parameter, its
     * value and what is allowed, where such packets are impossible
     */
    header_table(const packet_layout& layout,
                 const packet_settings& settings,
                 int channel_groups = 1,
                 int input_groups = 1);

    size_t header_bytes() const { return d_header_bytes; }
    size_t packet_bytes() const { return d_packet_bytes; }

    //! Returns false where a header makes no sense. \param packet header_bytes() of it
    bool read(const uint8_t* packet, packet_header& h) const
    {
        uint8_t all[8] = {};
        if (d_header_bytes < sizeof all) {
            std::memcpy(all, packet, d_header_bytes);
            packet = all;
        }
        for (const auto& c : d_checks) {
            uint64_t word;
            std::memcpy(&word, packet + c.at, sizeof word);
            if ((word & c.mask) != c.expected)
                return false;
        }
        if (d_channel.mask)
            h.channel = int64_t(d_channel.read(packet));
        if (!d_input_is_address)
            h.input = int64_t(d_input.read(packet));
        const uint64_t counter = d_counter.read(packet);
        const auto units = int64_t(counter - d_first);
        if (counter >> 62 || units < 0)
            return false;
        // a counter inside of a packet fits no packet
        h.number = d_unit_shift >= 0 ? units >> d_unit_shift : units / d_unit;
        if (h.number * d_unit != units)
            return false;
        return d_begins == packet_layout::beginning::with_sender ||
               read_seconds(packet, h);
    }

    //! Writes header_bytes(). Fields without a meaning are 0.
    void write(const packet_header& h, uint8_t* packet) const;

private:
    struct slot {
        int at = 0, shift = 0;
        bool big_endian = false;
        uint64_t mask = 0; //!< 0: there is no such field, which reads as 0

        uint64_t read(const uint8_t* packet) const
        {
            uint64_t word;
            std::memcpy(&word, packet + at, sizeof word);
            return (big_endian ? __builtin_bswap64(word) : word) >> shift & mask;
        }
        void write(uint64_t value, uint8_t* packet) const;
    };
    struct constant {
        int at;
        uint64_t mask, expected; //!< bits of a word as it is in memory
    };

    bool read_seconds(const uint8_t* packet, packet_header& h) const;
    slot slot_of(const packet_layout& layout, int field) const;

    size_t d_header_bytes, d_packet_bytes;
    bool d_input_is_address;
    packet_layout::beginning d_begins;
    slot d_channel, d_input, d_counter, d_seconds, d_half_years;
    uint64_t d_first;
    int64_t d_unit;        //!< counts in a packet
    int d_unit_shift = -1; //!< log2 of that, if it is whole
    int64_t d_packets_per_second = 0;
    std::vector<constant> d_checks;
    std::vector<uint8_t>
        d_constants; //!< a header with all fields that are always the same
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_PACKETS_HEADER_TABLE_H */
