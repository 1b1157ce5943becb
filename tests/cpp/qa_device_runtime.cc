/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "qa_device.h"
#include "runtime/event_log.h"
#include "runtime/host_wait.h"
#include "runtime/ring.h"
#include <cppunit/extensions/HelperMacros.h>
#include <cstring>
#include <random>

using namespace gr::aperture;

namespace {

//! An event that a test sets.
class switch_event : public event
{
public:
    bool done() const override { return is_done; }
    void synchronize() const override {}
    bool is_done = false;
};

} // namespace

//! Tests streams, events, rings and their memory, without flowgraphs.
class qa_device_runtime : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_device_runtime);
    CPPUNIT_TEST(a_stream_is_in_order);
    CPPUNIT_TEST(streams_wait_for_events);
    CPPUNIT_TEST(emulated_memory_is_not_the_hosts);
    CPPUNIT_TEST(a_failed_kernel_is_an_error);
    CPPUNIT_TEST(memory_that_does_not_fit);
    CPPUNIT_TEST(memory_is_mapped_twice);
    CPPUNIT_TEST(items_of_rings);
    CPPUNIT_TEST(windows_of_rings);
    CPPUNIT_TEST(logs_wait_for_enough);
    CPPUNIT_TEST(logs_wait_for_no_more_than_needed);
    CPPUNIT_TEST(forbidden_waits_are_counted);
    CPPUNIT_TEST(unknown_devices);
    CPPUNIT_TEST_SUITE_END();

    const device d_device = device::select("emulated");

public:
    void a_stream_is_in_order()
    {
        const qa::emulation restored;
        emulated::current_settings().delay = 100;
        emulated::stream s;
        std::vector<int> seen;
        for (int i = 0; i < 200; i++)
            s.run([&seen, i] { seen.push_back(i); });
        s.synchronize();
        CPPUNIT_ASSERT_EQUAL(size_t(200), seen.size());
        for (int i = 0; i < 200; i++)
            CPPUNIT_ASSERT_EQUAL(i, seen[i]);
    }

    void streams_wait_for_events()
    {
        emulated::stream first, second;
        std::atomic<bool> go{ false };
        std::atomic<int> steps{ 0 };
        first.run([&] {
            while (!go)
                std::this_thread::yield();
            steps = 1;
        });
        const auto e = first.record();
        second.wait(e);
        int seen = -1;
        second.run([&] { seen = steps; });
        CPPUNIT_ASSERT(!e->done());
        go = true;
        second.synchronize();
        CPPUNIT_ASSERT_EQUAL(1, seen);
        CPPUNIT_ASSERT(e->done());
        second.wait(nullptr); // no wait
        second.synchronize();
    }

    void emulated_memory_is_not_the_hosts()
    {
        const auto s = d_device.make_stream();
        const memory m = d_device.own_memory()->allocate(8192);
        std::vector<char> sent(3000), got(3000, 'x');
        for (size_t i = 0; i < sent.size(); i++)
            sent[i] = char(i * 7);
        s->copy(m.get() + 5, sent.data(), 3000, direction::host_to_device);
        s->copy(m.get() + 4001, m.get() + 8, 2000, direction::within_device);
        s->copy(got.data(), m.get() + 4001, 2000, direction::device_to_host);
        s->synchronize();
        CPPUNIT_ASSERT(std::equal(got.begin(), got.begin() + 2000, sent.begin() + 3));
        CPPUNIT_ASSERT_EQUAL('x', got[2000]);
        CPPUNIT_ASSERT(std::memcmp(m.get() + 5, sent.data(), 3000) != 0);
        s->clear(m.get(), 8192);
        s->copy(got.data(), m.get(), 3000, direction::device_to_host);
        s->synchronize();
        CPPUNIT_ASSERT(std::all_of(got.begin(), got.end(), [](char c) { return !c; }));
    }

    void a_failed_kernel_is_an_error()
    {
        emulated::stream s;
        s.run([] { throw std::runtime_error("division by a cucumber"); });
        try {
            s.synchronize();
            CPPUNIT_FAIL("no error");
        } catch (const std::runtime_error& e) {
            CPPUNIT_ASSERT_EQUAL(std::string("division by a cucumber"),
                                 std::string(e.what()));
        }
    }

    void memory_that_does_not_fit()
    {
        const qa::emulation restored;
        emulated::current_settings().memory_size = 100000;
        CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
        const memory m = d_device.own_memory()->allocate(60000);
        CPPUNIT_ASSERT_EQUAL(size_t(60000), emulated::memory_in_use());
        try {
            d_device.own_memory()->allocate(50000);
            CPPUNIT_FAIL("no error");
        } catch (const std::runtime_error& e) {
            CPPUNIT_ASSERT_EQUAL(
                std::string(
                    "emulated: 50000 bytes of device memory were asked for, 40000 "
                    "of 100000 are free"),
                std::string(e.what()));
        }
    }

    void memory_is_mapped_twice()
    {
        const size_t n = 3 * 4096;
        {
            const memory m = d_device.own_memory()->allocate_twice_mapped(n);
            for (size_t i = 0; i < n; i++)
                m.get()[n / 2 + i] = char(i * 5); // over the wrap
            for (size_t i = 0; i < 2 * n; i++)
                CPPUNIT_ASSERT_EQUAL(char((i + n - n / 2) % n * 5), m.get()[i]);
        }
        CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
    }

    void items_of_rings()
    {
        using result = std::pair<size_t, bool>;
        const size_t mebi = 1 << 20;
        // 4 bytes: one more than asked for, rounded to pages
        CPPUNIT_ASSERT(ring_items(16384, 4, 4096) == result(17408, true));
        CPPUNIT_ASSERT(ring_items(1000, 4, 4096) == result(1024, true));
        // 12 bytes: 2 MiB / gcd(12, 2 MiB) = 524288 items are 6 MiB
        CPPUNIT_ASSERT(ring_items(8 * mebi / 12, 12, 2 * mebi) ==
                       result(2 * 524288, true));
        // 8000 bytes: lcm(8000, 2 MiB) is 262 MB
        CPPUNIT_ASSERT(ring_items(1049, 8000, 2 * mebi) == result(1049, false));
        // 440000 bytes: lcm(440000, 2 MiB) is 14 GB
        CPPUNIT_ASSERT(ring_items(20, 440000, 2 * mebi) == result(20, false));
        CPPUNIT_ASSERT(ring_items(4, 440000, 4096) == result(4, false));
        // a page: nothing to round
        CPPUNIT_ASSERT(ring_items(4, 4096, 4096) == result(5, true));

        // whole periods, and whole pages of 1024 items
        CPPUNIT_ASSERT(ring_items(16384, 4, 4096, 1024) == result(17408, true));
        CPPUNIT_ASSERT(ring_items(16384, 4, 4096, 3072) == result(6 * 3072, true));
        CPPUNIT_ASSERT(ring_items(16384, 4, 4096, 100) == result(25600, true));
        // 384000 items would be whole periods of 3000: 23 times what is wanted
        CPPUNIT_ASSERT(ring_items(16384, 4, 4096, 3000) == result(17408, true));
        CPPUNIT_ASSERT(ring_items(1049, 8000, 2 * mebi, 50) == result(1050, false));
        CPPUNIT_ASSERT(ring_items(1049, 8000, 2 * mebi, 5000) == result(1049, false));
    }

    //! Writes at random places and reads at others, against a plain model of a ring.
    void windows_of_rings()
    {
        std::mt19937 random(5);
        for (auto layout :
             { ring::layout::twice_mapped, ring::layout::twin, ring::layout::single }) {
            const size_t size = layout == ring::layout::twice_mapped ? 4096 : 1001;
            memory m = layout == ring::layout::twice_mapped
                           ? d_device.own_memory()->allocate_twice_mapped(size)
                           : d_device.own_memory()->allocate(2 * size);
            ring r(std::move(m), size, layout);
            CPPUNIT_ASSERT_EQUAL(layout == ring::layout::twin ? 2 * size : size,
                                 r.footprint());
            std::vector<char> expected(size, 0);
            for (int round = 0; round < 300; round++) {
                const size_t at = random() % size, bytes = 1 + random() % (size / 2);
                std::vector<char> data(bytes);
                for (auto& c : data)
                    c = char(random());
                if (round % 2 || layout == ring::layout::single) {
                    for (const auto& p : r.pieces(at, bytes))
                        std::copy_n(data.data() + p.from, p.bytes, r.at(p.to));
                } else { // in place, as a kernel does
                    std::copy_n(data.data(), bytes, r.at(at));
                    for (const auto& p : r.twins(at, bytes))
                        std::copy_n(r.at(p.from), p.bytes, r.at(p.to));
                }
                for (size_t i = 0; i < bytes; i++)
                    expected[(at + i) % size] = data[i];
                const size_t windows = layout == ring::layout::single ? size : 2 * size;
                for (size_t i = 0; i < windows; i++)
                    CPPUNIT_ASSERT_EQUAL(expected[i % size], r.at(0)[i]);
            }
        }
    }

    /*!
     * Random work of random length, of which some is done: work that the log leaves out
     * must be done, and work that it names must be enough.
     */
    void logs_wait_for_enough()
    {
        std::mt19937 random(3);
        struct work {
            int64_t first, end;
            std::shared_ptr<switch_event> done;
        };
        event_log log;
        std::vector<work> all;
        size_t finished = 0; // a stream finishes work in order
        for (int round = 0; round < qa::in_all(2000, 700); round++) {
            const int64_t first = all.empty() ? 0 : all.back().end - int(random() % 3);
            all.push_back({ std::max(first, all.empty() ? 0 : all.back().first),
                            0,
                            std::make_shared<switch_event>() });
            all.back().end = all.back().first + 3 + random() % 10;
            log.add(all.back().first, all.back().end, all.back().done);
            // now and then it falls far behind
            if (round % 500 > 200)
                while (finished < all.size() && random() % 4)
                    all[finished++].done->is_done = true;
            const int64_t at = all.back().end - int64_t(random() % 300);
            auto place_of = [&](const event_sptr& e) {
                size_t i = 0;
                while (i < all.size() && all[i].done != e)
                    i++;
                return e ? i + 1 : finished;
            };
            const size_t uses = place_of(log.last_use_below(at));
            const size_t completes = place_of(log.completion_of(at));
            for (size_t i = 0; i < all.size(); i++) {
                if (all[i].first < at)
                    CPPUNIT_ASSERT(i < uses);
                if (all[i].first < at && all[i].end > all[i].first && all[i].end < at)
                    CPPUNIT_ASSERT(i < completes);
            }
            // the work that reaches the end itself
            size_t reaching = 0;
            while (reaching < all.size() && all[reaching].end < at)
                reaching++;
            CPPUNIT_ASSERT(reaching < completes || reaching < finished);
        }
    }

    void logs_wait_for_no_more_than_needed()
    {
        event_log log;
        CPPUNIT_ASSERT(!log.last());
        std::vector<std::shared_ptr<switch_event>> e;
        for (int i = 0; i < 10; i++) {
            e.push_back(std::make_shared<switch_event>());
            log.add(i * 10, i * 10 + 12, e.back());
        }
        CPPUNIT_ASSERT(log.last_use_below(0) == nullptr);
        CPPUNIT_ASSERT(log.last_use_below(1) == e[0]);
        CPPUNIT_ASSERT(log.last_use_below(40) == e[3]);
        CPPUNIT_ASSERT(log.completion_of(12) == e[0]);
        CPPUNIT_ASSERT(log.completion_of(13) == e[1]);
        CPPUNIT_ASSERT(log.completion_of(102) == e[9]);
        CPPUNIT_ASSERT(log.last() == e[9]);
        e[0]->is_done = true;
        log.add(100, 112, nullptr); // done at once
        CPPUNIT_ASSERT(log.completion_of(12) == nullptr);
        log.clear();
        CPPUNIT_ASSERT(log.last_use_below(1000) == nullptr);
    }

    void forbidden_waits_are_counted()
    {
        emulated::stream s;
        const long before = working_thread::forbidden_waits();
        s.synchronize();
        host_wait(s.record());
        CPPUNIT_ASSERT_EQUAL(before, working_thread::forbidden_waits());
        working_thread::begin();
        host_wait(s.record());
        CPPUNIT_ASSERT_EQUAL(before, working_thread::forbidden_waits());
        s.synchronize();
        s.record()->synchronize();
        working_thread::end();
        CPPUNIT_ASSERT_EQUAL(before + 2, working_thread::forbidden_waits());
    }

    void unknown_devices()
    {
        for (const char* name :
             { "gpu", "cuda:", "cuda:x", "emulated:x", "emulated:64", "" })
            CPPUNIT_ASSERT_THROW(device::select(name), std::invalid_argument);
        CPPUNIT_ASSERT_EQUAL(std::string("emulated"), d_device.name());
        CPPUNIT_ASSERT(!device::select("cpu").own_memory());
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_device_runtime);
