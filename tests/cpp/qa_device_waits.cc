/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/tap.h"
#include "small_rings.h"

using namespace gr::aperture;
using qa::device_sink, qa::device_source, qa::sequence, qa::sink, qa::source, qa::step,
    qa::stepped;

namespace {

//! Streams that do their work at once, or as late as the runtime's waits allow.
enum when { at_once, late };

void streams_are(when w) { emulated::current_settings().reluctant = w == late; }

template <class block, class... arguments>
std::shared_ptr<block> make(when w, arguments&&... a)
{
    streams_are(w);
    return qa::make<block>(std::forward<arguments>(a)...);
}

} // namespace

/*!
 * Tests each wait and each copy of the runtime. Without one of them a test here fails
 * each time, and not by chance: streams on one side of the wait are reluctant, those on
 * the other are not. tests/test_device_faults.py leaves out one after the other.
 */
class qa_device_waits : public qa::small_rings
{
    CPPUNIT_TEST_SUITE(qa_device_waits);
    CPPUNIT_TEST(readers_wait_for_the_writer);
    CPPUNIT_TEST(the_writer_waits_for_readers);
    CPPUNIT_TEST(host_readers_wait_for_the_writer_and_the_copy);
    CPPUNIT_TEST(a_host_writer_waits_for_copies);
    CPPUNIT_TEST(copies_of_a_host_writer_wait_for_readers);
    CPPUNIT_TEST(items_that_are_not_mapped_twice);
    CPPUNIT_TEST(readers_on_another_device_wait_for_copies);
    CPPUNIT_TEST(copies_to_another_device_wait_for_the_writer);
    CPPUNIT_TEST(copies_to_another_device_wait_for_readers);
    CPPUNIT_TEST(the_writer_waits_for_copies_to_another_device);
    CPPUNIT_TEST(the_writer_waits_for_copies_by_way_of_the_host);
    CPPUNIT_TEST(copies_to_the_host_wait_for_those_from_there);
    CPPUNIT_TEST(history_is_cleared_before_it_is_read);
    CPPUNIT_TEST(a_block_waits_for_its_own_calls);
    CPPUNIT_TEST(the_end_waits_for_kernels);
    CPPUNIT_TEST(the_end_waits_for_copies);
    CPPUNIT_TEST(a_look_waits_for_the_writer);
    CPPUNIT_TEST(the_writer_waits_for_a_look);
    CPPUNIT_TEST_SUITE_END();

    static constexpr int half = 512; // items of a ring
    static constexpr int64_t items = 40 * half;
    const std::string other = "emulated:1";


public:
    //! \param rings when they copy and clear
    void run(when rings)
    {
        streams_are(rings);
        d_top->run();
    }

    template <class checked>
    void assert_right(const std::shared_ptr<checked>& k, int64_t n = items)
    {
        CPPUNIT_ASSERT_EQUAL(n, k->items.load());
        CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
    }

    static std::shared_ptr<source> whole_calls(size_t size, int64_t n)
    {
        auto s = qa::make<source>(size, n);
        s->whole_calls = true;
        return s;
    }

    /*!
     * A reader that reads its items only when it is given more than the ring holds behind
     * them: each of its calls takes half of a ring, and four may wait.
     */
    std::shared_ptr<device_sink> late_reader(qa::model m, const std::string& on)
    {
        auto k = make<device_sink>(late, 4, std::move(m), on);
        k->set_output_multiple(half);
        return k;
    }

    void readers_wait_for_the_writer()
    {
        auto writer = make<step>(late, 4);
        auto k = make<device_sink>(at_once, 4, stepped(sequence()));
        chain({ whole_calls(4, items), writer, k });
        run(at_once);
        assert_right(k);
    }

    void the_writer_waits_for_readers()
    {
        auto writer = make<step>(at_once, 4);
        auto k = late_reader(stepped(sequence()), "emulated");
        chain({ whole_calls(4, items), writer, k });
        run(at_once);
        assert_right(k);
    }

    void host_readers_wait_for_the_writer_and_the_copy()
    {
        for (const when rings : { at_once, late }) {
            d_top = gr::make_top_block("test");
            auto writer = make<step>(late, 4);
            auto k = qa::make<sink>(4, stepped(sequence()));
            chain({ whole_calls(4, items), writer, k });
            run(rings);
            assert_right(k);
        }
    }

    void a_host_writer_waits_for_copies()
    {
        auto k = late_reader(sequence(), "emulated");
        chain({ whole_calls(4, items), k });
        run(late);
        assert_right(k);
    }

    void copies_of_a_host_writer_wait_for_readers()
    {
        auto k = late_reader(sequence(), "emulated");
        chain({ whole_calls(4, items), k });
        run(at_once);
        assert_right(k);
    }

    //! Twins, in the host's memory and on a device.
    void items_that_are_not_mapped_twice()
    {
        const size_t size = 1000003; // 33 of them are in the host's memory
        const int64_t n = 40;
        auto first = make<step>(at_once, size, 1), second = make<step>(at_once, size, 2);
        auto m = stepped(sequence(), 1);
        auto a = qa::make<sink>(size, sequence()),
             b = qa::make<sink>(size, stepped(m, 2));
        auto s = qa::make<source>(size, n);
        // GNU Radio chooses the rings
        for (auto& [from, to] :
             std::vector<std::pair<gr::basic_block_sptr, gr::basic_block_sptr>>{
                 { s, first }, { s, a }, { first, second }, { second, b } })
            d_top->connect(from, 0, to, 0);
        run(at_once);
        assert_right(a, n);
        assert_right(b, n);
    }

    void readers_on_another_device_wait_for_copies()
    {
        auto writer = make<step>(at_once, 4);
        auto k = make<device_sink>(at_once, 4, stepped(sequence()), other);
        chain({ whole_calls(4, items), writer, k });
        run(late);
        assert_right(k);
    }

    void copies_to_another_device_wait_for_the_writer()
    {
        auto writer = make<step>(late, 4);
        auto k = make<device_sink>(at_once, 4, stepped(sequence()), other);
        chain({ whole_calls(4, items), writer, k });
        run(at_once);
        assert_right(k);
    }

    void copies_to_another_device_wait_for_readers()
    {
        auto writer = make<step>(at_once, 4);
        auto k = late_reader(stepped(sequence()), other);
        chain({ whole_calls(4, items), writer, k });
        run(at_once);
        assert_right(k);
    }

    void the_writer_waits_for_copies_to_another_device()
    {
        auto writer = make<step>(at_once, 4);
        auto k = late_reader(stepped(sequence()), other);
        chain({ whole_calls(4, items), writer, k });
        run(late);
        assert_right(k);
    }

    void the_writer_waits_for_copies_by_way_of_the_host()
    {
        emulated::current_settings().peers = false;
        the_writer_waits_for_copies_to_another_device();
    }

    //! The ring copies to the host at once; its copy on another device reads that late.
    void copies_to_the_host_wait_for_those_from_there()
    {
        emulated::current_settings().peers = false;
        auto writer = make<step>(at_once, 4);
        auto k = late_reader(stepped(sequence()), other);
        k->before_start = [] { streams_are(late); };
        chain({ whole_calls(4, items), writer, k });
        run(at_once);
        assert_right(k);
    }

    void history_is_cleared_before_it_is_read()
    {
        auto s = make<device_source>(late, 4, 500, 7);
        auto d = make<step>(late, 4, 3);
        auto k = qa::make<sink>(4,
                                stepped(qa::each_byte([](int64_t i, size_t) {
                                            return uint8_t(i < 0 ? 0 : 7);
                                        }),
                                        3));
        chain({ s, d, k });
        run(late);
        assert_right(k, 500);
    }

    //! A call gives a stream less than ten pieces of work, and at most four calls and the
    //! present one wait.
    void a_block_waits_for_its_own_calls()
    {
        auto slow = make<step>(late, 4);
        slow->one_at_a_time = true;
        auto k =
            make<device_sink>(late, 4, qa::each_byte([](int64_t, size_t) { return 1; }));
        emulated::longest_queue();
        chain({ make<device_source>(late, 4, 300), slow, k });
        run(late);
        assert_right(k, 300);
        CPPUNIT_ASSERT(emulated::longest_queue() < 50);
    }

    void the_end_waits_for_kernels()
    {
        auto k = make<device_sink>(late, 4, sequence());
        chain({ whole_calls(4, 500), k });
        run(late);
        assert_right(k, 500);
        CPPUNIT_ASSERT_EQUAL(int64_t(500), k->looked_at.load());
    }

    //! The last items of a writer are there after its end.
    void the_end_waits_for_copies()
    {
        auto s = make<device_source>(at_once, 4, 500, 7);
        auto k = qa::make<sink>(4, qa::each_byte([](int64_t, size_t) { return 7; }));
        std::atomic<bool> called{ false };
        int calls = 0;
        s->set_max_noutput_items(100);
        s->before_call = [&] {
            if (++calls > 1)
                qa::comes_true([&] { return called.load(); });
        };
        // in the first call, for which only copies of the first items were waited for
        k->in_call = [&] {
            called = true;
            qa::comes_true([&] { return s->stopped.load(); });
        };
        chain({ s, k });
        run(late);
        assert_right(k, 500);
    }

    static int64_t wrong_of_look(const gr::basic_block_sptr& at, const qa::model& m)
    {
        tap t(at, 0);
        std::vector<uint8_t> bytes(size_t(t.most()) * 4, 0x5a);
        const newest_items n = t.copy(t.most(), bytes.data());
        CPPUNIT_ASSERT_EQUAL(t.most(), n.items);
        return qa::wrong_bytes(bytes.data(), m, int64_t(n.first), n.items, 4);
    }

    void a_look_waits_for_the_writer()
    {
        auto s = whole_calls(4, items);
        auto d = make<step>(late, 4);
        auto m = stepped(sequence());
        auto k = make<device_sink>(late, 4, m);
        s->gate = items - 1;
        chain({ s, d, k });
        streams_are(at_once);
        d_top->start();
        const bool came = qa::comes_true([&] { return k->items == items - 1; });
        const int64_t wrong = wrong_of_look(d, m);
        s->gate = -1;
        d_top->wait();
        CPPUNIT_ASSERT(came);
        CPPUNIT_ASSERT_EQUAL(int64_t(0), wrong);
        assert_right(k);
    }

    //! The writer scribbles over all its room.
    void the_writer_waits_for_a_look()
    {
        auto s = whole_calls(4, items);
        auto d = make<step>(at_once, 4);
        auto m = stepped(sequence());
        auto k = make<device_sink>(at_once, 4, m);
        d->scribbles = true;
        s->gate = items / 2;
        d_top->connect(s, 0, d, 0); // by a ring from which the writer can take much
        chain({ d, k });
        streams_are(at_once);
        d_top->start();
        const bool came = qa::comes_true([&] { return k->items == items / 2; });
        // The tap does not copy before the writer was asked to write more than a ring, or
        // cannot be asked for more.
        const int calls = d->calls;
        emulated::current_settings().before_reluctant_work = [&] {
            s->gate = -1;
            qa::comes_true(
                [&] { return k->items > items / 2 + 2 * half || d->calls >= calls + 4; });
        };
        streams_are(late);
        const int64_t wrong = wrong_of_look(d, m);
        d_top->wait();
        CPPUNIT_ASSERT(came);
        CPPUNIT_ASSERT_EQUAL(int64_t(0), wrong);
        assert_right(k);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_device_waits);
