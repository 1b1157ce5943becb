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
//     bench_packets receive ADDRESS:PORT BYTES
//     bench_packets send ADDRESS:PORT BYTES SECONDS GBIT/S     (0: as fast as it can)

#include "network/udp_receiver.h"
#include <sys/resource.h>
#include <sys/socket.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

using namespace gr::aperture;
using clock_type = std::chrono::steady_clock;

namespace {

double cpu_seconds(int who)
{
    rusage usage;
    getrusage(who, &usage);
    return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

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

int receive(const boost::asio::ip::udp::endpoint& address, int bytes)
{
    const auto settings = settings_of(bytes);
    const auto& layout = formats::find_packet_layout("layout", "plain");
    network::packet_window::parameters w;
    w.payload_bytes = settings.payload_bytes();
    w.rows = int(network::packet_window::fewest_rows(w.depth) + (1 << 26) / bytes);
    network::packet_window window(w);
    network::packet_intake intake(layout, settings, { 0 }, {}, window);
    network::udp_receiver::parameters r;
    r.address = address;
    r.most_bytes = size_t(bytes);
    network::udp_receiver receiver(r);
    receiver.start([&](const network::datagram* datagrams, size_t count) {
        if (count)
            intake.take(datagrams, count, 0);
        window.flush(network::time_now(), 100'000'000);
    });
    std::vector<uint8_t> out(1 << 22);
    size_t place = 0;
    uint64_t rows = 0, lost = 0;
    clock_type::time_point begin, newest;
    double cpu_before = 0, taker_before = 0, cpu = 0, taker = 0;
    std::printf("ready\n");
    std::fflush(stdout);
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
            cpu_before = cpu_seconds(RUSAGE_SELF);
            taker_before = cpu_seconds(RUSAGE_THREAD);
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
            cpu = cpu_seconds(RUSAGE_SELF) - cpu_before;
            taker = cpu_seconds(RUSAGE_THREAD) - taker_before;
        }
    }
    const double seconds = std::chrono::duration<double>(newest - begin).count();
    receiver.stop();
    const auto counts = window.counted();
    std::printf("{\"seconds\": %.3f, \"gbit\": %.3f, \"packets\": %llu, \"lost\": %llu, "
                "\"dropped\": %llu, \"overrun\": %llu, \"receiver_cpu\": %.3f, "
                "\"taker_cpu\": %.3f, \"buffer\": %d}\n",
                seconds,
                1e-9 * 8 * bytes * double(counts.used),
                (unsigned long long)counts.used,
                (unsigned long long)lost,
                (unsigned long long)receiver.dropped(),
                (unsigned long long)counts.overrun,
                cpu - taker,
                taker,
                receiver.buffer_bytes());
    return 0;
}

int send(const boost::asio::ip::udp::endpoint& address,
         int bytes,
         double seconds,
         double gbit)
{
    constexpr int at_once = 32;
    const auto settings = settings_of(bytes);
    const auto& layout = formats::find_packet_layout("layout", "plain");
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
        if (gbit > 0) {
            const double due = 8e-9 * bytes * double(number) / gbit;
            if (due > seconds_since(begin)) {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
                continue;
            }
        }
        for (size_t i = 0; i < at_once; i++)
            layout.write(settings,
                         { 0, number + int64_t(i) },
                         static_cast<uint8_t*>(vectors[i].iov_base));
        const int sent = ::sendmmsg(socket.native_handle(), messages.data(), at_once, 0);
        if (sent > 0)
            number += sent;
    }
    std::printf("{\"sent\": %lld, \"seconds\": %.3f, \"cpu\": %.3f}\n",
                (long long)number,
                seconds_since(begin),
                cpu_seconds(RUSAGE_SELF));
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        const std::string what = argc > 1 ? argv[1] : "";
        if (what == "receive" && argc == 4)
            return receive(network::parse_endpoint("ADDRESS", argv[2]),
                           std::atoi(argv[3]));
        if (what == "send" && argc == 6)
            return send(network::parse_endpoint("ADDRESS", argv[2]),
                        std::atoi(argv[3]),
                        std::atof(argv[4]),
                        std::atof(argv[5]));
        std::fprintf(stderr,
                     "bench_packets receive ADDRESS:PORT BYTES\n"
                     "bench_packets send ADDRESS:PORT BYTES SECONDS GBIT/S\n");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    return 1;
}
