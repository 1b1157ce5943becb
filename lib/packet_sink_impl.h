/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PACKET_SINK_IMPL_H
#define INCLUDED_APERTURE_PACKET_SINK_IMPL_H

#include "formats/exact_time.h"
#include "formats/packets/payload_order.h"
#include "network/packet_faults.h"
#include "network/pcap_file.h"
#include "network/udp_sender.h"
#include "stream/intervals.h"
#include "stream/packet_plan.h"
#include <gnuradio/aperture/packet_sink.h>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

namespace gr::aperture {

class packet_sink_impl : public packet_sink
{
public:
    packet_sink_impl(const parameters& p, const packet_plan& plan);

    std::map<std::string, uint64_t> counts() const override;
    std::string error() const override;

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    void begin(int64_t first_number, const formats::exact_time& first_time);
    void read_tags(int items);
    bool wait_for(int64_t number);
    //! Sends the packets of a row, one of each stream.
    void send_row(const gr_vector_const_void_star& input_items, int64_t item, int slice);
    bool all_missing(int stream, int64_t first) const;
    void put_payload(const gr_vector_const_void_star& input_items,
                     int stream,
                     int64_t item,
                     int slice,
                     uint8_t* payload);
    int64_t time_of(int64_t number) const; // returns ns since the start
    void send(const network::packet_faults::parcel& parcel);
    void fail(const std::string& why);

    const parameters d_p;
    const packet_plan d_plan;
    const formats::ratio d_packet_rate;
    const formats::header_table d_headers;
    const formats::payload_order d_order;
    std::vector<int> d_addresses; // address of each stream
    std::unique_ptr<network::packet_faults> d_faults;
    std::unique_ptr<network::udp_sender> d_sender;
    std::unique_ptr<network::pcap_writer> d_writer;
    std::vector<boost::asio::ip::udp::endpoint> d_from; // senders in a file

    bool d_begun = false;
    int64_t d_first = 0, d_number = 0; // numbers of packets
    int d_slice = 0;                   // slice of the frame that is sent
    int64_t d_epoch = 0;               // ns since 1970, of the first packet
    int64_t d_said_epoch = 0;          // s since 1970, in headers
    std::chrono::steady_clock::time_point d_start;
    std::vector<intervals> d_missing; // lost samples or spectra of each input
    std::vector<uint8_t> d_samples;   // [sample][input] of a stream

    enum { sent, bytes, lost, duplicated, corrupted, reordered, missing, all_counts };
    std::array<std::atomic<uint64_t>, all_counts> d_counts{};
    mutable std::mutex d_error_mutex;
    std::string d_error;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PACKET_SINK_IMPL_H */
