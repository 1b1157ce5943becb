/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_PCAP_FILE_H
#define INCLUDED_APERTURE_NETWORK_PCAP_FILE_H

#include "network/endpoint.h"
#include <gnuradio/aperture/api.h>
#include <boost/endian/conversion.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::network {

//! A UDP datagram in a file of captured packets.
struct captured {
    sender from, to;
    int64_t arrival = 0;           //!< ns since 1970
    const uint8_t* data = nullptr; //!< valid until the next call
    size_t bytes = 0;
    bool cut = false; //!< only a part of it was captured
};

using c_file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/*!
 * Reads the UDP datagrams of a file as tcpdump (pcap) and Wireshark (pcapng) write it:
 * of Ethernet and of Linux's "cooked" captures, both with VLANs, of loopback and of bare
 * IP. libpcap would do a third of this, and refuses what is read here: interfaces of
 * several link types or snapshot lengths in one pcapng file, as mergecap writes them, and
 * sections of different byte orders.
 */
class APERTURE_API pcap_reader
{
public:
    //! \throws std::runtime_error naming the file
    explicit pcap_reader(const std::string& filename);

    //! Reads the next datagram; returns false at the end.
    bool next(captured& c);
    //! Says why reading ended before the file did; empty if it did not.
    const std::string& error() const { return d_error; }
    //! Returns how many packets of other protocols, and fragments, were passed over.
    uint64_t others() const { return d_others; }
    uint64_t fragments() const { return d_fragments; }

private:
    struct interface {
        uint32_t link;
        uint64_t units_per_second;
    };

    bool fail(const std::string& why);
    // Reads so many bytes into d_bytes; returns false at the end.
    bool read(size_t bytes);
    bool next_of_pcap(captured& c, uint32_t& link, size_t& begin, size_t& end);
    bool next_of_pcapng(captured& c, uint32_t& link, size_t& begin, size_t& end);
    void read_interface(size_t end);
    bool decode(captured& c, uint32_t link, size_t begin, size_t end);
    template <class Number>
    Number number(size_t at) const // in the file's order
    {
        Number found;
        std::memcpy(&found, d_bytes.data() + at, sizeof found);
        return d_swapped ? boost::endian::endian_reverse(found) : found;
    }
    uint16_t u16(size_t at) const { return number<uint16_t>(at); }
    uint32_t u32(size_t at) const { return number<uint32_t>(at); }

    const std::string d_filename;
    c_file d_file;
    std::string d_error;
    bool d_next_generation = false;
    bool d_swapped = false;
    std::vector<interface> d_interfaces;
    std::vector<uint8_t> d_bytes;
    uint64_t d_others = 0, d_fragments = 0;
};

//! Writes datagrams as a pcap file of Ethernet frames, with times in nanoseconds.
class pcap_writer
{
public:
    //! \throws std::runtime_error naming the file
    explicit pcap_writer(const std::string& filename);
    //! Writes a datagram, with both endpoints IPv4, or IPv6. \throws std::runtime_error
    void write(const boost::asio::ip::udp::endpoint& from,
               const boost::asio::ip::udp::endpoint& to,
               int64_t time,
               const uint8_t* data,
               size_t bytes);
    //! \throws std::runtime_error
    void close();

private:
    [[noreturn]] void fail() const;
    void put_bytes();

    const std::string d_filename;
    c_file d_file;
    std::vector<uint8_t> d_bytes;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_PCAP_FILE_H */
