/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_PACKET_SOURCE_IMPL_H
#define INCLUDED_APERTURE_PACKET_SOURCE_IMPL_H

#include "formats/exact_time.h"
#include "formats/packets/payload_order.h"
#include "network/packet_intake.h"
#include "network/packet_receiver.h"
#include "network/pcap_file.h"
#include "network/transports.h"
#include "network/udp_frame.h"
#include "stream/packet_plan.h"
#include "stream/rate_limit.h"
#include <gnuradio/aperture/packet_source.h>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

namespace gr::aperture {

class packet_source_impl : public packet_source
{
public:
    packet_source_impl(const parameters& p, const packet_plan& plan);

    std::map<std::string, uint64_t> counts() const override;
    std::vector<uint64_t> missing() const override;
    std::vector<uint64_t> clamped() const override;
    std::string type() const override { return name_of(d_plan.settings.type()); }
    std::vector<int> socket_buffers() const override;
    std::string transport() const override { return d_transport; }
    std::string error() const override;
    void finish() override { d_finish = true; }

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    // Rows that are being passed on: one, or some in a row that are lost.
    struct run {
        network::packet_window::row row;
        int64_t number, count; // first row, and how many rows are left
        int64_t done = 0;      // samples of the first of them
    };
    // Missing samples of a stream (in frames, of all streams) that are to be tagged.
    struct gap {
        int64_t first = 0, count = 0;
    };

    void open_receivers();
    void fail(const std::string& why);
    void forget();
    bool next_run(std::chrono::milliseconds wait);
    std::optional<network::packet_window::row> next_row(std::chrono::milliseconds wait);
    bool read_file();
    void start_run(const network::packet_window::row& r);
    void set_origin(const network::packet_window::row& r);
    void drop_run();
    formats::exact_time time_of(int64_t number, int64_t sample) const;
    void tag_clock(uint64_t item, int64_t number, int64_t sample);
    void publish_counts();
    void watch_silence();
    void publish_restart(const network::packet_window::row& r, const std::string& what);
    void count_lost(const network::packet_window::row& r);

    void miss(int stream, int64_t first, int64_t count);
    void tag_gap(int stream, gap& g);
    void tag_gaps();

    int fill_samples(const gr_vector_void_star& output_items, int done, int wanted);
    int fill_frames(const gr_vector_void_star& output_items, int done, int wanted);
    void fill_rows(char* frame, char* mask, int slice);
    void zero_rows(char* frame, int slice, int slices);
    int end_frame(const gr_vector_void_star& output_items, int done);

    const parameters d_p;
    const packet_plan d_plan;
    const formats::ratio d_packet_rate;
    const int64_t d_most_gap; // in packets
    int64_t d_patience = 0;   // ns
    network::packet_window d_window;
    network::packet_intake d_intake;
    std::string d_transport;
    std::vector<std::unique_ptr<network::packet_receiver>> d_receivers;
    std::vector<std::unique_ptr<network::receive_queue>> d_joined; // not read
    size_t d_sockets = 0; // receivers that are sockets, the first ones
    const network::address_table d_addresses; // addresses that files are read for

    // files
    size_t d_file = 0; // index of the one that is read
    std::unique_ptr<network::pcap_reader> d_reader;
    bool d_files_ended = false;
    std::atomic<uint64_t> d_passed_over{ 0 };

    std::optional<run> d_run;
    std::optional<network::packet_window::row> d_behind; // row that waits behind a gap
    bool d_started = false;                              // rows have come
    bool d_frame_padded = false;  // zeros were filled in before the row that waits
    bool d_clock_due = false;     // rx_time has to be tagged anew
    bool d_refill = false;        // the frame that was begun is gone
    int64_t d_next = 0;           // number of the next row
    formats::exact_time d_origin; // time of packet 0
    int64_t d_epoch = 0;          // from which headers count, s since 1970
    bool d_approximate = false;
    int d_filled = 0;          // rows of the frame that is being made
    std::vector<gap> d_gaps;   // gaps of each stream; in frames one for all
    uint64_t d_item_limit = 0; // 0: none
    const formats::payload_order d_order;
    std::vector<uint8_t> d_unpacked;

    std::atomic<bool> d_finish{ false };
    std::atomic<uint64_t> d_lost{ 0 };
    std::vector<std::atomic<uint64_t>> d_missing, d_clamped;
    std::chrono::steady_clock::time_point d_published;
    // time since which nothing has come, and whether a warning said so
    std::chrono::steady_clock::time_point d_heard;
    uint64_t d_used_then = 0;
    bool d_silence_said = false;
    rate_limit d_restarts{ 5 };
    mutable std::mutex d_error_mutex;
    std::string d_error;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_PACKET_SOURCE_IMPL_H */
