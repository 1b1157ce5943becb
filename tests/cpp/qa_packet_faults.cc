/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "../fuzz/packet_script.h"
#include <cppunit/TestCase.h>
#include <cppunit/TestSuite.h>
#include <cppunit/extensions/HelperMacros.h>
#include <sys/resource.h>

namespace gr::aperture::fuzz {

class qa_packet_faults : public CppUnit::TestCase
{
    CPPUNIT_TEST_SUITE(qa_packet_faults);
    CPPUNIT_TEST(test_a_million_packets);
    CPPUNIT_TEST(test_memory);
    CPPUNIT_TEST_SUITE_END();

    static long kilobytes()
    {
        rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    }

    //! Random scripts of good and bad packets; faults end the program.
    void test_a_million_packets()
    {
        random_bytes random(20261126);
        while (packets_played < 1'000'000) {
            const auto bytes = random.next(4096);
            packet_script(bytes.data(), bytes.size()).play();
        }
        // many of them are good, and arrive
        CPPUNIT_ASSERT(payloads_checked > packets_played / 4);
    }

    //! Packets of a million senders, at a million places, all of which are dropped.
    void test_memory()
    {
        network::packet_window::parameters p;
        p.payload_bytes = 8000;
        p.depth = 32;
        p.rows = int(network::packet_window::fewest_rows(p.depth));
        network::packet_window window(p);
        const std::vector<uint8_t> payload(8000, 1);
        network::packet one{};
        one.payload = network::byte_view::of(payload.data(), payload.size());
        const long before = kilobytes();
        uint64_t state = 1;
        for (int i = 0; i < 300'000; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            one.from.port = uint16_t(state >> 33);
            one.from.address[3] = uint8_t(state >> 50);
            one.number = i % 3 ? i / 3 : int64_t(state >> 3);
            one.arrival += 1000;
            window.put(&one, 1);
        }
        // all rows, the held packets of 16 senders, and as much again
        const long most = 2 * (p.rows + 16 * p.confirm) * 8;
        CPPUNIT_ASSERT(kilobytes() - before < most);
        CPPUNIT_ASSERT(window.senders() <= network::packet_window::most_senders);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_packet_faults);

} // namespace gr::aperture::fuzz
