/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// Measures how fast packets are received and put in order: one thread receives and orders
// them, as in packet_source, another one copies the samples out. bench/packets.py runs
// it.
//
//     bench_packets receive ADDRESS:PORT BYTES [TRANSPORT [INTERFACE [ARGUMENT OF
//     DPDK]...]] bench_packets send ADDRESS:PORT BYTES SECONDS GBIT/S     (0: as fast as
//     it can) bench_packets copy BYTES     (us of a copy, of memory that is not in a
//     cache) bench_packets ring BYTES SECONDS GBIT/S     (within the process, by DPDK's
//     net_ring)
//     bench_packets headers LAYOUT COUNT     (no network: for a counter of instructions)

#include "network/packet_intake.h"
#include "network/packet_receiver.h"
#include "network/transports.h"
#include "timing.h"
#include <pthread.h>
#include <sys/socket.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#ifdef APERTURE_DPDK
#include "network/udp_frame.h"
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#endif

using namespace gr::aperture;
using clock_type = std::chrono::steady_clock;

namespace {

//! The processor time of threads that come by.
class thread_clocks
{
public:
    void come_by()
    {
        static thread_local bool known = false;
        if (known)
            return;
        known = true;
        std::lock_guard<std::mutex> guard(d_mutex);
        clockid_t clock;
        pthread_getcpuclockid(pthread_self(), &clock);
        d_clocks.push_back(clock);
    }
    double seconds()
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        double all = 0;
        for (const clockid_t clock : d_clocks)
            all += seconds_of(clock);
        return all;
    }

private:
    std::mutex d_mutex;
    std::vector<clockid_t> d_clocks;
};

double seconds_since(clock_type::time_point begin)
{
    return std::chrono::duration<double>(clock_type::now() - begin).count();
}

formats::packet_settings settings_of(int bytes)
{
    formats::packet_settings s;
    s.samples = (bytes - 8) / 2;
    s.rate = { 1'000'000'000, 1 };
    return s;
}

formats::header_table headers_of(const formats::packet_settings& settings)
{
    return { formats::find_packet_layout("layout", "plain"), settings };
}

//! \param send sends packets, in a thread of its own; none: others do
int receive(const network::transport_parameters& t,
            const std::string& transport,
            const std::function<void()>& send = {})
{
    const int bytes = int(t.most_bytes);
    const auto settings = settings_of(bytes);
    network::packet_window::parameters w;
    w.payload_bytes = settings.payload_bytes();
    w.rows = int(network::packet_window::fewest_rows(w.depth) + (1 << 26) / bytes);
    network::packet_window window(w);
    network::packet_intake intake(headers_of(settings), { 0 }, { 0 }, {}, window);
    auto opened = network::open_transport(transport, t);
    std::vector<std::unique_ptr<network::packet_receiver>> receivers;
    if (!opened.only_join)
        for (auto& socket : opened.sockets)
            receivers.push_back(
                std::make_unique<network::packet_receiver>(std::move(socket), -1));
    for (auto& queue : opened.queues)
        receivers.push_back(
            std::make_unique<network::packet_receiver>(std::move(queue), -1));
    thread_clocks clocks;
    for (const auto& receiver : receivers)
        receiver->start([&](const network::datagram* datagrams, size_t count) {
            clocks.come_by();
            if (count)
                intake.take(datagrams, count);
            window.flush(network::time_now(), 100'000'000);
        });
    std::vector<uint8_t> out(1 << 22);
    size_t place = 0;
    uint64_t rows = 0, lost = 0;
    clock_type::time_point begin, newest;
    double cpu_before = 0, taker_before = 0, cpu = 0, taker = 0;
    std::printf("ready\n");
    std::fflush(stdout);
    std::thread sender(send ? send : [] {});
    for (;;) {
        const auto row = window.take(std::chrono::milliseconds(50));
        if (!row) {
            if (rows > 0 && seconds_since(newest) > 1)
                break;
            continue;
        }
        newest = clock_type::now();
        if (rows == 0) {
            begin = newest;
            cpu_before = clocks.seconds();
            taker_before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        }
        if (row->payloads) {
            if (place + size_t(w.payload_bytes) > out.size())
                place = 0;
            std::memcpy(out.data() + place, row->payloads, size_t(w.payload_bytes));
            place += size_t(w.payload_bytes);
            rows++;
        } else {
            lost += uint64_t(row->count);
        }
        window.release(*row);
        if (rows % 1024 == 0 || lost) {
            cpu = clocks.seconds() - cpu_before;
            taker = seconds_of(CLOCK_THREAD_CPUTIME_ID) - taker_before;
        }
    }
    const double seconds = std::chrono::duration<double>(newest - begin).count();
    sender.join();
    uint64_t dropped = 0;
    for (const auto& receiver : receivers) {
        receiver->stop();
        dropped += receiver->queue().dropped();
    }
    const auto counts = window.counted();
    std::printf("{\"seconds\": %.3f, \"gbit\": %.3f, \"packets\": %llu, \"lost\": %llu, "
                "\"dropped\": %llu, \"overrun\": %llu, \"receiver_cpu\": %.3f, "
                "\"taker_cpu\": %.3f, \"buffer\": %lld}\n",
                seconds,
                1e-9 * 8 * bytes * double(counts.used),
                (unsigned long long)counts.used,
                (unsigned long long)lost,
                (unsigned long long)dropped,
                (unsigned long long)counts.overrun,
                cpu,
                taker,
                (long long)receivers.back()->queue().buffer_bytes());
    return 0;
}

//! Waits until a packet is due.
void wait_for_due(int64_t number, int bytes, double gbit, clock_type::time_point begin)
{
    while (gbit > 0 && 8e-9 * bytes * double(number) / gbit > seconds_since(begin))
        std::this_thread::sleep_for(std::chrono::microseconds(50));
}

int send(const boost::asio::ip::udp::endpoint& address,
         int bytes,
         double seconds,
         double gbit)
{
    constexpr int at_once = 32;
    const auto settings = settings_of(bytes);
    const auto headers = headers_of(settings);
    boost::asio::io_context context;
    boost::asio::ip::udp::socket socket(context, address.protocol());
    const int buffer = 1 << 22;
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    socket.connect(address);
    std::vector<uint8_t> memory(size_t(at_once) * size_t(bytes), 1);
    std::array<iovec, at_once> vectors;
    std::array<mmsghdr, at_once> messages{};
    for (size_t i = 0; i < at_once; i++) {
        vectors[i] = { memory.data() + i * size_t(bytes), size_t(bytes) };
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    int64_t number = 0;
    const auto begin = clock_type::now();
    while (seconds_since(begin) < seconds) {
        wait_for_due(number, bytes, gbit, begin);
        for (size_t i = 0; i < at_once; i++)
            headers.write({ 0, 0, number + int64_t(i) },
                          static_cast<uint8_t*>(vectors[i].iov_base));
        const int sent = ::sendmmsg(socket.native_handle(), messages.data(), at_once, 0);
        if (sent > 0)
            number += sent;
    }
    std::printf("{\"sent\": %lld, \"seconds\": %.3f, \"cpu\": %.3f}\n",
                (long long)number,
                seconds_since(begin),
                seconds_of(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

//! Copies packets from a buffer as large as that of a receiver.
int copy(size_t bytes)
{
    const std::vector<uint8_t> from(1 << 26, 1);
    std::vector<uint8_t> to(1 << 20);
    int64_t count = 0;
    size_t place = 0;
    const double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (int again = 0; again < 16; again++)
        for (size_t at = 0; at + bytes <= from.size(); at += bytes, count++) {
            place = place + 2 * bytes <= to.size() ? place + bytes : 0;
            std::memcpy(&to[place], &from[at], bytes);
        }
    std::printf("%.3f\n",
                1e6 * (seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin) / double(count));
    return 0;
}

//! Takes packets of 512 bytes or so through header and window, as a receiving thread
//! does, and nothing else: `perf stat -e instructions:u` counts what a packet costs.
int headers(const std::string& name, int64_t count)
{
    constexpr int at_once = 64;
    const auto& layout = formats::find_packet_layout("LAYOUT", name);
    formats::packet_settings settings;
    settings.samples = layout.samples ? layout.samples : 128;
    settings.inputs = layout.inputs ? layout.inputs : 2;
    settings.channels = layout.channels;
    settings.written = name == "vdif" ? formats::coding::offset8 : formats::coding::s8;
    settings.sc4 = layout.codings.size() == 1;
    settings.rate = { 1000 * int64_t(settings.samples), 1 };
    formats::complete_settings(layout, settings);
    const formats::header_table table(layout, settings);
    network::packet_window::parameters w;
    w.payload_bytes = settings.payload_bytes();
    w.rows = int(network::packet_window::fewest_rows(w.depth));
    network::packet_window window(w);
    network::packet_intake intake(table, { 0 }, { 0 }, {}, window);
    std::vector<uint8_t> memory(at_once * table.packet_bytes());
    std::vector<network::datagram> datagrams;
    for (size_t i = 0; i < at_once; i++) {
        network::datagram d;
        d.content = network::byte_view::of(&memory[i * table.packet_bytes()],
                                           table.packet_bytes());
        datagrams.push_back(d);
    }
    formats::packet_header h;
    for (h.number = 1'700'000'000'000; count > 0; count -= at_once) {
        for (size_t i = 0; i < at_once; i++, h.number++)
            table.write(h, &memory[i * table.packet_bytes()]);
        intake.take(datagrams.data(), at_once);
        while (const auto row = window.take(std::chrono::milliseconds(0)))
            window.release(*row);
    }
    std::printf("%llu\n", (unsigned long long)window.counted().used);
    return 0;
}

#ifdef APERTURE_DPDK
//! Receives from a ring of DPDK's, which a thread fills as a card would: no system
//! between.
int ring(int bytes, double seconds, double gbit)
{
    constexpr uint16_t at_once = 32, headers = 42;
    network::transport_parameters t;
    t.addresses = { network::parse_endpoint("ADDRESS", "10.0.0.2:4015") };
    t.most_bytes = size_t(bytes);
    t.interface = "net_ring0";
    const auto send = [=] {
        const auto settings = settings_of(bytes);
        const auto table = headers_of(settings);
        uint16_t port = 0;
        rte_eth_dev_get_port_by_name("net_ring0", &port);
        rte_mempool* const pool = rte_pktmbuf_pool_create(
            "sent", 4095, 0, 0, uint16_t(bytes + headers + RTE_PKTMBUF_HEADROOM), 0);
        // Ethernet, IPv4 and UDP, without a checksum of UDP
        std::vector<uint8_t> frame(size_t(headers + bytes), 1);
        const auto put16 = [&](size_t at, size_t number) {
            frame[at] = uint8_t(number >> 8);
            frame[at + 1] = uint8_t(number);
        };
        const size_t words[] = {
            0x4500, size_t(28 + bytes), 0, 0, 0x4011, 0, 0x0a00, 1, 0x0a00, 2, 5000,
            4015,   size_t(8 + bytes),  0
        };
        put16(12, 0x0800);
        for (size_t i = 0; i < std::size(words); i++)
            put16(14 + 2 * i, words[i]);
        put16(24, network::checksum_of(network::sum_of_words(&frame[14], 20)));
        int64_t number = 0;
        const auto begin = clock_type::now();
        std::array<rte_mbuf*, at_once> sent;
        while (seconds_since(begin) < seconds) {
            wait_for_due(number, bytes, gbit, begin);
            if (rte_pktmbuf_alloc_bulk(pool, sent.data(), at_once) != 0)
                continue;
            for (auto* const m : sent) {
                table.write({ 0, 0, number++ }, &frame[headers]);
                std::memcpy(rte_pktmbuf_append(m, uint16_t(frame.size())),
                            &frame[0],
                            frame.size());
            }
            for (uint16_t done = 0; done < at_once;)
                done =
                    uint16_t(done + rte_eth_tx_burst(
                                        port, 0, &sent[done], uint16_t(at_once - done)));
        }
        std::printf("{\"sent\": %lld, \"seconds\": %.3f}\n",
                    (long long)number,
                    seconds_since(begin));
    };
    return receive(t, "dpdk", send);
}
#endif

} // namespace

int main(int argc, char** argv)
{
    try {
        const std::string what = argc > 1 ? argv[1] : "";
        if (what == "receive" && argc >= 4) {
            network::transport_parameters t;
            t.addresses = { network::parse_endpoint("ADDRESS", argv[2]) };
            t.most_bytes = size_t(std::atoi(argv[3]));
            if (argc > 5)
                t.interface = argv[5];
            t.dpdk_arguments.assign(argv + std::min(argc, 6), argv + argc);
            return receive(t, argc > 4 ? argv[4] : "socket");
        }
        if (what == "copy" && argc == 3)
            return copy(size_t(std::atoi(argv[2])));
        if (what == "headers" && argc == 4)
            return headers(argv[2], std::atoll(argv[3]));
#ifdef APERTURE_DPDK
        if (what == "ring" && argc == 5)
            return ring(std::atoi(argv[2]), std::atof(argv[3]), std::atof(argv[4]));
#endif
        if (what == "send" && argc == 6)
            return send(network::parse_endpoint("ADDRESS", argv[2]),
                        std::atoi(argv[3]),
                        std::atof(argv[4]),
                        std::atof(argv[5]));
        std::fprintf(stderr,
                     "bench_packets receive ADDRESS:PORT BYTES [TRANSPORT [INTERFACE "
                     "[ARGUMENT OF DPDK]...]]\n"
                     "bench_packets send ADDRESS:PORT BYTES SECONDS GBIT/S\n"
                     "bench_packets copy BYTES\n"
                     "bench_packets ring BYTES SECONDS GBIT/S\n"
                     "bench_packets headers LAYOUT COUNT\n");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    return 1;
}
