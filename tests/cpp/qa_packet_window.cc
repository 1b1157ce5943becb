/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/packet_window.h"
#include <cppunit/extensions/HelperMacros.h>
#include <algorithm>
#include <thread>

using namespace gr::aperture::network;

namespace {

constexpr int streams = 3, depth = 16, confirm = 4;
constexpr int64_t bytes = 8191, rows = 1000;

uint8_t pattern(int stream, int64_t number)
{
    return uint8_t(1 + (number * 7 + stream * 31) % 251);
}

packet_window::parameters parameters()
{
    packet_window::parameters p;
    p.streams = streams;
    p.payload_bytes = bytes;
    p.depth = depth;
    p.confirm = confirm;
    p.rows = int(packet_window::fewest_rows(depth));
    p.quiet = 0;
    return p;
}

} // namespace

//! Threads that put packets side by side: no row is taken before its payloads are whole.
class qa_packet_window : public CppUnit::TestCase
{
    CPPUNIT_TEST_SUITE(qa_packet_window);
    CPPUNIT_TEST(test_threads);
    CPPUNIT_TEST(test_pieces);
    CPPUNIT_TEST_SUITE_END();

public:
    void test_threads()
    {
        packet_window window(parameters());
        // a thread waits where it would be ahead of what is taken: nothing is late then
        std::atomic<int64_t> taken{ 0 };
        std::atomic<bool> ended{ false };
        std::vector<std::thread> threads;
        for (int stream = 0; stream < streams; stream++)
            threads.emplace_back([&, stream] {
                sender who;
                who.port = uint16_t(1 + stream);
                std::vector<uint8_t> memory(size_t(5 * bytes));
                for (int64_t number = 0; number < rows && !ended;) {
                    packet packets[5];
                    size_t count = 0;
                    for (; count < 5 && number < rows; count++, number++) {
                        uint8_t* const at = memory.data() + int64_t(count) * bytes;
                        std::fill_n(at, bytes, pattern(stream, number));
                        packets[count] = {
                            who, number, stream, number, byte_view::of(at, size_t(bytes))
                        };
                    }
                    while (number > taken + depth / 2 && !ended)
                        std::this_thread::yield();
                    window.put(packets, count);
                }
            });
        int64_t wrong = 0, there = 0, next = 0;
        while (next < rows) {
            const auto row = window.take(std::chrono::milliseconds(100));
            if (!row) {
                window.flush(int64_t(1) << 60, 0);
                continue;
            }
            for (int stream = 0; row->payloads && stream < streams; stream++) {
                if (!row->has(stream))
                    continue;
                there++;
                const uint8_t* const payload = row->payloads + stream * bytes;
                wrong +=
                    std::count(payload, payload + bytes, pattern(stream, row->number)) !=
                    bytes;
            }
            next = row->number + row->count;
            taken = next;
            window.release(*row);
        }
        ended = true;
        for (auto& thread : threads)
            thread.join();
        CPPUNIT_ASSERT_EQUAL(int64_t(0), wrong);
        CPPUNIT_ASSERT_EQUAL(int64_t(window.counted().used), there);
        CPPUNIT_ASSERT(there > rows * streams * 9 / 10);
    }

    void test_pieces()
    {
        packet_window window(parameters());
        std::vector<uint8_t> payload(size_t(bytes), 0);
        for (size_t i = 0; i < payload.size(); i++)
            payload[i] = uint8_t(i * i >> 3);
        // payloads lie in pieces of odd lengths, the first of none
        for (int64_t number = 0; number < 2 * confirm; number++) {
            std::vector<byte_view::piece> rest;
            const size_t first = size_t(number) * 1000;
            for (size_t at = first; at < payload.size();) {
                const size_t here = std::min<size_t>(payload.size() - at, 777);
                rest.push_back({ payload.data() + at, here });
                at += here;
            }
            for (int stream = 0; stream < streams; stream++) {
                const packet p{ sender(),
                                0,
                                stream,
                                number,
                                { payload.data(), payload.size(), first, rest.data() } };
                window.put(&p, 1);
            }
        }
        window.finish();
        int64_t there = 0;
        while (const auto row = window.take(std::chrono::milliseconds(0))) {
            for (int stream = 0; stream < streams; stream++) {
                CPPUNIT_ASSERT(row->has(stream));
                CPPUNIT_ASSERT(std::equal(
                    payload.begin(), payload.end(), row->payloads + stream * bytes));
                there++;
            }
            window.release(*row);
        }
        CPPUNIT_ASSERT_EQUAL(int64_t(2 * confirm * streams), there);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_packet_window);
