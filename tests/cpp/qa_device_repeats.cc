/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "qa_device.h"
#include "runtime/host_wait.h"
#include <gnuradio/block_detail.h>
#include <cppunit/extensions/HelperMacros.h>

using namespace gr::aperture;
using qa::device_sink, qa::in_all, qa::make, qa::model, qa::sink, qa::step, qa::stepped;

namespace {

/*!
 * A device source whose items repeat themselves after `period` of them, with others in
 * each run: items that a ring still holds of an earlier run are wrong.
 */
class repeater : public device_block
{
public:
    repeater(size_t item_size, int64_t period, int64_t items)
        : gr::block("repeater",
                    gr::io_signature::make(0, 0, 0),
                    signature_on(device::select("emulated"), 1, int(item_size))),
          device_block(device::select("emulated")),
          d_size(item_size),
          d_period(period),
          d_items(items),
          d_chunks(unsigned(item_size + period))
    {
    }

    bool start() override
    {
        d_sent = held = 0;
        run++;
        return device_block::start();
    }

    int64_t period() const override { return d_period; }

    int process(int noutput_items,
                gr_vector_int&,
                gr_vector_const_void_star&,
                gr_vector_void_star& output_items) override
    {
        const int n =
            int(std::min<int64_t>(d_chunks.next(noutput_items), d_items - d_sent));
        if (n == 0)
            return WORK_DONE;
        if (outputs_held()) {
            held += n;
        } else {
            auto* out = static_cast<uint8_t*>(output_items[0]);
            const int64_t first = d_sent;
            const model m = sent();
            dynamic_cast<emulated::stream&>(work_stream()).run([=] {
                qa::for_each_piece(n * d_size, [&](size_t at, size_t bytes) {
                    uint8_t made[qa::piece];
                    m(first * int64_t(d_size) + int64_t(at), bytes, d_size, made);
                    for (size_t k = 0; k < bytes; k++)
                        out[at + k] = made[k] ^ emulated::mask;
                });
            });
        }
        d_sent += n;
        return n;
    }

    //! Returns the stream of the present run.
    model sent() const
    {
        return qa::each_byte([this](int64_t i, size_t b) -> uint8_t {
            return i < 0 ? 0 : qa::sequence_byte(i % d_period * d_size + b) + run;
        });
    }

    //! Items of its ring.
    int64_t ring() const { return detail()->output(0)->bufsize(); }

    std::atomic<int64_t> held{ 0 }; // items that it did not write
    std::atomic<int> run{ 0 };

private:
    const size_t d_size;
    const int64_t d_period, d_items;
    int64_t d_sent = 0;
    qa::chunks d_chunks;
};

} // namespace

/*!
 * A block that repeats itself writes a ring of whole periods once; readers of all kinds
 * find the right items in it. Bytes depend on their place in the period and on the run,
 * and bytes that were not written are zero.
 */
class qa_device_repeats : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_device_repeats);
    CPPUNIT_TEST(whole_periods);
    CPPUNIT_TEST(whole_periods_where_nothing_is_mapped_twice);
    CPPUNIT_TEST(periods_that_do_not_fit);
    CPPUNIT_TEST(start_stop_start);
    CPPUNIT_TEST(lock_and_unlock);
    CPPUNIT_TEST_SUITE_END();

    std::unique_ptr<qa::emulation> d_restored;

public:
    void setUp() override
    {
        d_restored = std::make_unique<qa::emulation>();
        emulated::current_settings().delay = 300;
    }

    void tearDown() override
    {
        d_restored.reset();
        CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
        CPPUNIT_ASSERT_EQUAL(0l, working_thread::forbidden_waits());
    }

    //! A repeater that is read by the host, by the device, and with history.
    struct flowgraph {
        gr::top_block_sptr top = gr::make_top_block("test");
        std::shared_ptr<repeater> source;
        std::shared_ptr<sink> direct, stepwise;
        std::shared_ptr<device_sink> on_device;

        flowgraph(size_t size, int64_t period, int64_t items)
            : source(make<repeater>(size, period, items)),
              direct(make<sink>(size, source->sent())),
              stepwise(make<sink>(size, stepped(source->sent(), 3))),
              on_device(make<device_sink>(size, source->sent()))
        {
            auto with_history = make<step>(size, 3);
            top->connect(source, 0, direct, 0);
            top->connect(source, 0, on_device, 0);
            top->connect(source, 0, with_history, 0);
            top->connect(with_history, 0, stepwise, 0);
        }

        void assert_right(int64_t items) const
        {
            for (const auto& k : { direct, stepwise })
                CPPUNIT_ASSERT_EQUAL(items, k->items.load());
            CPPUNIT_ASSERT_EQUAL(items, on_device->items.load());
            assert_nothing_wrong();
        }
        void assert_nothing_wrong() const
        {
            for (const auto& k : { direct, stepwise })
                CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
            CPPUNIT_ASSERT_EQUAL(int64_t(0), on_device->wrong.load());
        }
    };

    //! Checks that the source writes nothing once the ring is full.
    void check(size_t size, int64_t period, int64_t items)
    {
        flowgraph f(size, period, items);
        f.top->run();
        f.assert_right(items);
        CPPUNIT_ASSERT_EQUAL(int64_t(0), f.source->ring() % period);
        CPPUNIT_ASSERT(f.source->held > items - 2 * f.source->ring());
    }

    void whole_periods()
    {
        const int64_t items = in_all(300000, 100000);
        check(4, 1, items);
        check(4, 1024, items);
        check(4, 3072, items);
        check(12, 16384, items);
        check(3, 7, in_all(1000000, 200000)); // a ring of whole pages and periods
        check(4096, 5, 1000);
    }

    void whole_periods_where_nothing_is_mapped_twice()
    {
        emulated::current_settings().granularity = 2 << 20;
        check(8000, 3, in_all(1000, 200));
        check(100003, 7, in_all(100, 40));
    }

    void periods_that_do_not_fit()
    {
        for (auto [size, period] :
             { std::pair<size_t, int64_t>{ 4, in_all(1000003, 50021) },
               { 4, 99991 },
               { 8000, 499 } }) {
            const int64_t items = std::min<int64_t>(2 * period + 777, 8000000 / size);
            flowgraph f(size, period, items);
            f.top->run();
            f.assert_right(items);
            CPPUNIT_ASSERT_EQUAL(int64_t(0), f.source->held.load());
        }
    }

    void start_stop_start()
    {
        const int64_t items = 200000;
        flowgraph f(4, 1000, items);
        for (int run = 0; run < 5; run++) {
            f.top->run();
            f.assert_right(items);
            CPPUNIT_ASSERT(f.source->held > 0);
            f.top->start(); // stopped in the middle
            std::this_thread::sleep_for(std::chrono::milliseconds(run));
            f.top->stop();
            f.top->wait();
            f.assert_nothing_wrong();
        }
    }

    /*!
     * Without history: after unlock() GNU Radio has no zeros before the first item, so
     * that the output of a reader with history is another number of items late.
     */
    void lock_and_unlock()
    {
        auto top = gr::make_top_block("test");
        auto source = make<repeater>(4, 1000, int64_t(1) << 50);
        auto host = make<sink>(4, source->sent()), other = make<sink>(4, source->sent());
        auto device = make<device_sink>(4, source->sent());
        auto copied = make<sink>(4, stepped(source->sent()));
        auto copies = make<step>(4);
        auto flow = [&](const std::vector<std::shared_ptr<sink>>& sinks) {
            const int64_t least = 3 * source->ring();
            for (const auto& k : sinks) {
                CPPUNIT_ASSERT(qa::comes_true([&] { return k->items >= least; }));
                CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
            }
            CPPUNIT_ASSERT(source->held > 0);
            CPPUNIT_ASSERT_EQUAL(int64_t(0), device->wrong.load());
        };
        top->connect(source, 0, host, 0);
        top->connect(source, 0, device, 0);
        top->start();
        flow({ host });
        top->lock();
        top->connect(source, 0, other, 0);
        top->connect(source, 0, copies, 0);
        top->connect(copies, 0, copied, 0);
        top->unlock();
        flow({ host, other, copied });
        top->lock();
        top->disconnect(source, 0, host, 0);
        top->disconnect(source, 0, other, 0);
        top->unlock();
        flow({ copied });
        top->stop();
        top->wait();
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_device_repeats);
