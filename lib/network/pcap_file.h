/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_PCAP_FILE_H
#define INCLUDED_APERTURE_NETWORK_PCAP_FILE_H

#include "network/endpoint.h"
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::network {

//! A UDP datagram in a file of captured packets.
struct captured {
    boost::asio::ip::udp::endpoint from, to;
    int64_t arrival = 0;           //!< ns since 1970
    const uint8_t* data = nullptr; //!< valid until the next call
    size_t bytes = 0;
    bool cut = false; //!< not all of it was captured
};

/*!
 * Reads the UDP datagrams of a file as tcpdump (pcap) and Wireshark (pcapng) write it:
 * of Ethernet and of Linux's "cooked" captures, both with VLANs, of loopback and of bare
 * IP.
 */
class pcap_reader
{
public:
    //! \throws std::runtime_error naming the file
    explicit pcap_reader(const std::string& filename);

    //! False at the end.
    bool next(captured& c);
    //! Why reading ended before the file, or empty.
    const std::string& error() const { return d_error; }
    //! Packets of other protocols, and fragments of IP, which were passed over.
    uint64_t others() const { return d_others; }
    uint64_t fragments() const { return d_fragments; }

private:
    struct interface {
        uint32_t link;
        uint64_t units_per_second;
    };

    bool fail(const std::string& why);
    // Reads so many bytes into d_bytes; false at the end.
    bool read(size_t bytes);
    bool next_packet(captured& c, uint32_t& link, size_t& begin, size_t& end);
    bool next_of_pcap(captured& c, uint32_t& link, size_t& begin, size_t& end);
    bool next_of_pcapng(captured& c, uint32_t& link, size_t& begin, size_t& end);
    void read_interface(size_t end);
    bool decode(captured& c, uint32_t link, size_t begin, size_t end);
    bool decode_ip(captured& c, size_t begin, size_t end);
    uint16_t u16(size_t at) const; // in the file's order
    uint32_t u32(size_t at) const;
    uint16_t net16(size_t at) const // in the network's
    {
        return uint16_t(d_bytes[at] << 8 | d_bytes[at + 1]);
    }

    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::string d_filename;
    std::unique_ptr<std::FILE, closer> d_file;
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
    //! Both endpoints are of IPv4, or both of IPv6. \throws std::runtime_error
    void write(const boost::asio::ip::udp::endpoint& from,
               const boost::asio::ip::udp::endpoint& to,
               int64_t time,
               const uint8_t* data,
               size_t bytes);
    //! \throws std::runtime_error
    void close();

private:
    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::string d_filename;
    std::unique_ptr<std::FILE, closer> d_file;
    std::vector<uint8_t> d_bytes;
};

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_PCAP_FILE_H */
