/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/tap.h"
#include "small_rings.h"

using namespace gr::aperture;
using qa::device_sink, qa::device_source, qa::in_all, qa::make, qa::sequence, qa::sink,
    qa::source, qa::step, qa::stepped;

/*!
 * Tests that work is done in the right order: small rings that wrap often, and streams
 * that are late at random. Each wait and each copy of the runtime has a test here that
 * fails now and then without it: tests/test_device_faults.py leaves out one after the
 * other. In qa_device_waits each has one that always does.
 */
class qa_device_order : public qa::small_rings
{
    CPPUNIT_TEST_SUITE(qa_device_order);
    CPPUNIT_TEST(late_streams);
    CPPUNIT_TEST(late_reader);
    CPPUNIT_TEST(late_writer);
    CPPUNIT_TEST(late_copies_to_the_host);
    CPPUNIT_TEST(late_copies_to_the_device);
    CPPUNIT_TEST(twins);
    CPPUNIT_TEST(late_on_another_device);
    CPPUNIT_TEST(late_on_another_device_by_way_of_the_host);
    CPPUNIT_TEST(late_clear);
    CPPUNIT_TEST(never_far_ahead);
    CPPUNIT_TEST(stopped_in_the_middle);
    CPPUNIT_TEST(taps);
    CPPUNIT_TEST_SUITE_END();

    int64_t d_items = in_all(200000, 50000);

public:
    void setUp() override
    {
        small_rings::setUp();
        emulated::current_settings().delay = 1000;
    }

    void run_and_check(const std::vector<std::shared_ptr<sink>>& sinks)
    {
        d_top->run();
        for (const auto& k : sinks) {
            CPPUNIT_ASSERT_EQUAL(d_items, k->items.load());
            CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
        }
    }

    //! Everything is late now and then, with history, and readers of both kinds
    //! everywhere.
    void late_streams()
    {
        auto s = make<source>(4, d_items);
        auto first = make<step>(4, 17), second = make<step>(4);
        auto m = stepped(sequence(), 17);
        auto a = make<sink>(4, sequence()), b = make<sink>(4, m),
             c = make<sink>(4, stepped(m));
        chain({ s, first, second, c });
        chain({ s, a });
        chain({ first, b });
        run_and_check({ a, b, c });
    }

    void late_reader()
    {
        auto late = make<step>(4, 3);
        late->pause = 300;
        auto k = make<sink>(4, stepped(stepped(sequence()), 3));
        chain({ make<source>(4, d_items), make<step>(4), late, k });
        run_and_check({ k });
        // late streams of a host writer
        d_top = gr::make_top_block("test");
        k = make<sink>(4, stepped(sequence(), 3));
        chain({ make<source>(4, d_items), late, k });
        run_and_check({ k });
    }

    void late_writer()
    {
        auto late = make<step>(4);
        late->pause = 300;
        auto m = stepped(sequence());
        auto a = make<sink>(4, m), b = make<sink>(4, stepped(m));
        chain({ make<source>(4, d_items), late, make<step>(4), b });
        chain({ late, a });
        run_and_check({ a, b });
    }

    void late_copies_to_the_host()
    {
        auto s = make<source>(4, d_items);
        auto d = make<step>(4);
        s->whole_calls = d->whole_calls = true;
        emulated::current_settings().delay = 3000;
        auto k = make<sink>(4, stepped(sequence()));
        chain({ s, d, k });
        run_and_check({ k });
    }

    void late_copies_to_the_device()
    {
        auto s = make<source>(4, d_items);
        s->whole_calls = true;
        emulated::current_settings().delay = 3000;
        auto k = make<device_sink>(4, sequence());
        chain({ s, k });
        d_top->run();
        CPPUNIT_ASSERT_EQUAL(d_items, k->items.load());
        CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
    }

    //! Items for which no ring can be mapped twice, on the device and on the host.
    void twins()
    {
        const size_t size = 1000003; // the mirror of the source holds 33
        const int64_t items = in_all(80, 40);
        auto s = make<source>(size, items);
        auto first = make<step>(size, 1), second = make<step>(size, 2);
        auto m = stepped(sequence(), 1);
        auto a = make<sink>(size, sequence()), b = make<sink>(size, m),
             c = make<sink>(size, stepped(m, 2));
        for (auto& [from, to] :
             std::vector<std::pair<gr::basic_block_sptr, gr::basic_block_sptr>>{
                 { s, first }, { s, a }, { first, second }, { first, b }, { second, c } })
            d_top->connect(from, 0, to, 0);
        d_top->run();
        for (const auto& k : { a, b, c }) {
            CPPUNIT_ASSERT_EQUAL(items, k->items.load());
            CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
        }
    }

    //! The same, with readers on several devices at each edge.
    void late_on_another_device()
    {
        d_items =
            in_all(30000, 10000); // ten cycles of a ring or more, and many flowgraphs
        const std::string one = "emulated:1", two = "emulated:2";
        auto s = make<source>(4, d_items);
        auto first = make<step>(4, 17), second = make<step>(4, 5, 1, one),
             third = make<step>(4, 0, 1, two), same = make<step>(4);
        auto m = stepped(sequence(), 17);
        auto a = make<sink>(4, m), b = make<sink>(4, stepped(m, 5)),
             c = make<sink>(4, stepped(stepped(m, 5))), d = make<sink>(4, stepped(m));
        chain({ s, first, second, third, c });
        chain({ first, a });
        chain({ first, same, d });
        chain({ second, b });
        run_and_check({ a, b, c, d });
        // a late reader there, and then a late writer; and both with a host writer
        for (const bool writer : { false, true }) {
            d_top = gr::make_top_block("test");
            auto from = make<step>(4, 0, 1, one), to = make<step>(4, 3, 1, two);
            (writer ? from : to)->pause = 300;
            auto k = make<sink>(4, stepped(stepped(sequence()), 3));
            chain({ make<source>(4, d_items), from, to, k });
            run_and_check({ k });
        }
        // a reader there so late, with such long calls, that the writer is more than a
        // ring ahead of it, and of the copies
        for (const int copy_delay : { 0, 10000 }) {
            emulated::current_settings().copy_delay = copy_delay;
            d_top = gr::make_top_block("test");
            auto ahead = make<step>(4, 0, 1, one), behind = make<step>(4, 3, 1, two);
            ahead->whole_calls = behind->whole_calls = true;
            behind->pause = 3000;
            auto last = make<device_sink>(4, stepped(stepped(sequence()), 3), two);
            s = make<source>(4, d_items);
            s->whole_calls = true;
            chain({ s, ahead, behind, last });
            d_top->run();
            CPPUNIT_ASSERT_EQUAL(d_items, last->items.load());
            CPPUNIT_ASSERT_EQUAL(int64_t(0), last->wrong.load());
        }
        emulated::current_settings().copy_delay = 0;

        d_top = gr::make_top_block("test");
        auto early = make<step>(4, 0, 1, one), late = make<step>(4, 3, 1, two);
        late->pause = 300;
        s = make<source>(4, d_items);
        s->whole_calls = true;
        auto k = make<sink>(4, stepped(sequence())),
             l = make<sink>(4, stepped(sequence(), 3));
        chain({ s, early, k });
        chain({ s, late, l });
        run_and_check({ k, l });
    }

    void late_on_another_device_by_way_of_the_host()
    {
        emulated::current_settings().peers = false;
        late_on_another_device();
    }

    //! Memory is cleared before the first item comes, not over it.
    void late_clear()
    {
        emulated::current_settings().clear_delay = 100000;
        // a device source writes at once, after no other ring's clear
        auto k = make<sink>(4, qa::each_byte([](int64_t, size_t) { return 7; }));
        chain({ make<device_source>(4, 500, 7), k });
        d_top->run();
        CPPUNIT_ASSERT_EQUAL(int64_t(500), k->items.load());
        CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
    }

    /*!
     * A device source could fill the queue of a slow kernel's stream. A call gives a
     * stream less than ten pieces of work, and at most four calls and the present one
     * wait.
     */
    void never_far_ahead()
    {
        auto slow = make<step>(4);
        slow->pause = 500;
        slow->one_at_a_time = true;
        auto k = make<device_sink>(4, qa::each_byte([](int64_t, size_t) { return 0; }));
        chain({ make<device_source>(4, 300), slow, k });
        emulated::longest_queue();
        d_top->run();
        CPPUNIT_ASSERT_EQUAL(int64_t(300), k->items.load());
        CPPUNIT_ASSERT(emulated::longest_queue() < 50);
    }

    void stopped_in_the_middle()
    {
        emulated::current_settings().delay = 10000;
        for (int round = 0; round < in_all(30, 9); round++) {
            auto s = make<source>(4, int64_t(1) << 50);
            auto d = make<step>(4, 5), e = make<step>(4);
            d->pause = round % 3 * 1000;
            auto m = stepped(sequence(), 5);
            auto a = make<sink>(4, m), b = make<sink>(4, stepped(m));
            d_top = gr::make_top_block("test");
            chain({ s, d, e, b });
            chain({ d, a });
            d_top->start();
            std::this_thread::sleep_for(std::chrono::milliseconds(round));
            d_top->stop();
            d_top->wait();
            CPPUNIT_ASSERT_EQUAL(int64_t(0), a->wrong + b->wrong);
            CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
        }
    }

    /*!
     * Items that a tap copies were in the stream, at their indices: under a writer that
     * scribbles over all its room, in rings that are mapped twice and in others.
     */
    void taps()
    {
        for (const auto& [size, items] :
             { std::pair<size_t, int64_t>{ 4, d_items },
               std::pair<size_t, int64_t>{ 1021, in_all(9000, 3000) } }) {
            d_top = gr::make_top_block("test");
            auto s = make<source>(size, items);
            auto d = make<step>(size, 3), e = make<step>(size);
            d->scribbles = true;
            auto m = stepped(sequence(), 3);
            auto k = make<sink>(size, stepped(m));
            for (auto& [from, to] :
                 std::vector<std::pair<gr::basic_block_sptr, gr::basic_block_sptr>>{
                     { s, d }, { d, e }, { e, k } }) {
                d_top->connect(from, 0, to, 0);
                gr::cast_to_block_sptr(from)->set_max_output_buffer(size == 4 ? 1023
                                                                              : 40);
            }
            CPPUNIT_ASSERT_THROW(tap(d, 0), std::runtime_error);
            for (int round = 0; round < 2; round++) {
                s->gate = items - 1; // the stream ends behind some looks
                d_top->start();
                CPPUNIT_ASSERT_THROW(tap(d, 1), std::invalid_argument);
                CPPUNIT_ASSERT_THROW(tap(k, 0), std::invalid_argument);
                int64_t looks = 0, wrong = 0, last = 0;
                std::vector<uint8_t> bytes;
                tap t(d, 0);
                CPPUNIT_ASSERT_EQUAL(std::string("emulated"), t.device_name());
                CPPUNIT_ASSERT_THROW(t.copy(t.most() + 1, nullptr),
                                     std::invalid_argument);
                while (true) {
                    const bool done = t.done();
                    const int wanted = looks % 2 ? 1 : t.most();
                    bytes.assign(wanted * size, 0x5a);
                    const newest_items n = t.copy(wanted, bytes.data());
                    CPPUNIT_ASSERT(n.items == wanted ||
                                   n.first + n.items < uint64_t(wanted));
                    wrong +=
                        qa::wrong_bytes(bytes.data(), m, int64_t(n.first), n.items, size);
                    CPPUNIT_ASSERT(int64_t(n.first) + n.items >= last);
                    last = int64_t(n.first) + n.items;
                    if (++looks == 6)
                        s->gate = -1;
                    if (done)
                        break;
                }
                d_top->wait();
                CPPUNIT_ASSERT_EQUAL(int64_t(0), wrong);
                CPPUNIT_ASSERT(looks > 5);
                CPPUNIT_ASSERT_EQUAL(items, k->items.load());
                CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
                CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
                // the last items of the ring are kept
                const newest_items n = t.copy(1, bytes.data());
                CPPUNIT_ASSERT_EQUAL(uint64_t(items), n.first + n.items);
                CPPUNIT_ASSERT_EQUAL(
                    int64_t(0), qa::wrong_bytes(bytes.data(), m, items - 1, 1, size));
                // none are kept for an edge without taps
                CPPUNIT_ASSERT_THROW(tap(e, 0).copy(1, bytes.data()), std::runtime_error);
            }
        }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_device_order);
