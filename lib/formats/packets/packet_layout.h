/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_PACKETS_PACKET_LAYOUT_H
#define INCLUDED_APERTURE_FORMATS_PACKETS_PACKET_LAYOUT_H

#include "formats/packets/packet_settings.h"
#include <gnuradio/aperture/api.h>
#include <optional>
#include <string>
#include <vector>

namespace gr::aperture::formats {

/*!
 * Quantities of a packet that a field of its header may say. They follow from the
 * settings of a source, so that a field with one of them is the same in all of its
 * packets.
 */
enum class quantity {
    none,
    number,        //!< a number that the layout gives
    channels,      //!< channels in a packet
    inputs,        //!< inputs in a packet
    samples,       //!< samples, or spectra, in a packet
    bits,          //!< bits of a component
    complex,       //!< 1 if samples are complex, otherwise 0
    packet_bytes,  //!< bytes of a packet with its header
    payload_bytes, //!< bytes of a packet without its header
    all_channels,  //!< channels of all packets of one time
    all_inputs,    //!< inputs of all packets of one time
};

//! A field of a header: some bits of a number of `width` bytes.
struct header_field {
    std::string name;
    int offset = 0; //!< bytes from the packet's first one
    int width = 0;  //!< bytes, 1 to 8
    bool little_endian = false;
    int lowest_bit = 0; //!< lowest bit of the number
    int bits = 0;
    quantity value = quantity::none;
    int64_t number = 0; //!< the value, if it is a number
    //! The field has log2(value) or value / unit, and `add` more.
    bool log2 = false;
    int64_t unit = 1, add = 0;
    bool checked = true; //!< packets with another value are wrong
};

//! An axis of a payload.
enum class axis { channel, time, input };

/*!
 * A layout of packets: the fields of their headers, and what these mean. It is read from
 * a YAML file, which docs/packets.md describes; those in `layouts` are built into the
 * library.
 */
struct packet_layout {
    std::string name;
    std::string meaning; //!< a sentence, for documents and errors
    int header_bytes = 0;
    std::vector<header_field> fields;

    // places in `fields`; -1: there is none
    int channel = -1;    //!< number of the packet's first channel, or of its channels
    int input = -1;      //!< number of the packet's first input, or of its inputs
    int counter = -1;    //!< time of its first sample
    int seconds = -1;    //!< whole seconds
    int half_years = -1; //!< half years from 2000 to where `seconds` begin
    bool input_is_address = false; //!< the address that a packet came to says its input

    bool counts_samples = false; //!< the counter counts samples or spectra, not packets
    int64_t first = 0;           //!< counter of the first packet
    enum class beginning {
        with_sender, //!< the counter begins with the sender, nobody knows when
        each_second, //!< the counter begins with each second
        at_seconds,  //!< the counter began at the time that `seconds` say
    };
    beginning begins = beginning::with_sender;

    std::vector<axis> order; //!< axes of the payload, the slowest first
    // shape and type of payloads, where the layout says it; otherwise 0 or empty
    int channels = 0, samples = 0, inputs = 0;
    std::vector<std::string> codings;
    std::optional<bool> complex;

    //! Returns whether packets have channels of a channelised band, and become frames.
    bool channelised() const { return channel >= 0; }
    //! Returns whether packets say their time, in packets since 1970.
    bool absolute() const { return begins == beginning::each_second; }
};

//! Returns the layouts that are built in.
APERTURE_API const std::vector<packet_layout>& packet_layouts();

/*!
 * Returns a layout.
 * \param name one that is built in, or a file: with a slash, or that ends with .yml or
 * .yaml \throws std::invalid_argument naming the parameter, its value and what is
 * allowed, or the file, its line, the field and what is allowed
 */
APERTURE_API packet_layout find_packet_layout(const std::string& parameter,
                                              const std::string& name);

//! Reads a layout from a text. \param source a name of it, for errors
APERTURE_API packet_layout read_packet_layout(const std::string& source,
                                              const std::string& text);

/*!
 * Sets members of the settings that are 0 to what the layout says, then checks them.
 * \throws std::invalid_argument naming the parameter, its value and what is allowed
 */
void complete_settings(const packet_layout& layout, packet_settings& s);

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_PACKETS_PACKET_LAYOUT_H */
