/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_PACKETS_PACKET_LAYOUT_H
#define INCLUDED_APERTURE_FORMATS_PACKETS_PACKET_LAYOUT_H

#include "formats/coding.h"
#include "formats/exact_time.h"
#include <cstdint>
#include <string>
#include <vector>

namespace gr::aperture::formats {

//! The settings of all packets of a source, which its user gives.
struct packet_settings {
    int samples = 1024; //!< samples of each input in a packet
    int inputs = 1;     //!< inputs in a packet; they are interleaved sample by sample
    bool sc4 =
        false; //!< a sample is a byte of type sc4, and the two members below mean nothing
    coding written = coding::s8;
    bool complex = true;
    ratio rate{ 1, 1 }; //!< samples a second of an input

    //! Returns the type of the samples in memory.
    sample_type type() const
    {
        return sc4 ? sample_type::sc4 : type_of(written, complex);
    }
    //! Returns the components in a packet.
    int bits_of_sample() const { return sc4 ? 8 : bits_of(written) * (complex ? 2 : 1); }
    //! Returns the bytes of a payload, which packet_layout::check() makes sure are whole.
    int64_t payload_bytes() const
    {
        return int64_t(samples) * inputs * bits_of_sample() / 8;
    }
    //! Returns the packets of a stream in a second.
    ratio packets_per_second() const;
};

//! The contents of a packet's header.
struct packet_header {
    //! The stream of packets that it belongs to. Before a layout reads a header this is
    //! the index of the address that the packet came to.
    int64_t stream = 0;
    //! The time of its first sample, in packets of that stream: 0 to below 2^62. All
    //! streams of a source count from the same time.
    int64_t number = 0;
};

/*!
 * A layout of packets. The table of all of them is in packet_layouts.cc, which is the one
 * file to be changed for a new one.
 */
struct packet_layout {
    const char* name;
    const char* meaning; //!< a sentence, for documents and errors
    int header_bytes;    //!< the payload stands behind it
    //! True if a stream is a channel of a channelised band, and its payloads are
    //! [time][input]. Otherwise streams have samples of different inputs.
    bool channelised;
    //! True if number counts from 1970. Otherwise it counts from the start of the sender.
    bool absolute;
    //! Throws std::invalid_argument where such packets are impossible.
    void (*check)(const packet_settings& s);
    //! Returns false where the header makes no sense. The packet has the right length.
    bool (*read)(const packet_settings& s, const uint8_t* packet, packet_header& h);
    //! Writes header_bytes.
    void (*write)(const packet_settings& s, const packet_header& h, uint8_t* packet);

    int64_t packet_bytes(const packet_settings& s) const
    {
        return header_bytes + s.payload_bytes();
    }
};

const std::vector<packet_layout>& packet_layouts();

//! \throws std::invalid_argument naming the parameter, its value and what is allowed
const packet_layout& find_packet_layout(const std::string& parameter,
                                        const std::string& name);

//! Checks what holds for all layouts, then calls check(). \throws std::invalid_argument
void check_packets(const packet_layout& layout, const packet_settings& s);

//! Reads "sc4", or the name of a coding. \throws std::invalid_argument
void set_coding(packet_settings& s,
                const std::string& parameter,
                const std::string& name);

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_PACKETS_PACKET_LAYOUT_H */
