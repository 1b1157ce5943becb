/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_PACKETS_PACKET_SETTINGS_H
#define INCLUDED_APERTURE_FORMATS_PACKETS_PACKET_SETTINGS_H

#include "formats/coding.h"
#include "formats/exact_time.h"
#include <cstdint>
#include <string>

namespace gr::aperture::formats {

//! The settings of all packets of a source, which its user gives.
struct packet_settings {
    int samples = 1024; //!< samples, or spectra, of each input in a packet
    int inputs = 1;     //!< inputs in a packet
    int channels = 1;   //!< channels in a packet
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
    //! Returns the bits of a component in a packet.
    int bits_of_component() const { return sc4 ? 4 : bits_of(written); }
    bool is_complex() const { return sc4 || complex; }
    //! Returns the bits of a sample in a packet.
    int bits_of_sample() const { return bits_of_component() * (is_complex() ? 2 : 1); }
    //! Returns the samples of all channels and inputs in a packet.
    int64_t all_samples() const { return int64_t(samples) * inputs * channels; }
    //! Returns the bytes of a payload, which complete_settings() makes sure are whole.
    int64_t payload_bytes() const { return all_samples() * bits_of_sample() / 8; }
    //! Returns the packets of a stream in a second.
    ratio packets_per_second() const;
};

//! Reads "sc4", or the name of a coding. \throws std::invalid_argument
void set_coding(packet_settings& s,
                const std::string& parameter,
                const std::string& name);

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_PACKETS_PACKET_SETTINGS_H */
