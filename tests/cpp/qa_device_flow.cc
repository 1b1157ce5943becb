/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "qa_device.h"
#include "runtime/device_buffer.h"
#include "runtime/host_wait.h"
#include <gnuradio/aperture/copy.h>
#include <gnuradio/aperture/device/host_work.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_double_mapped.h>
#include <gnuradio/hier_block2.h>
#include <gnuradio/logger.h>
#include <cppunit/extensions/HelperMacros.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sstream>

using namespace gr::aperture;
using qa::device_sink, qa::in_all, qa::make, qa::sequence, qa::sink, qa::source, qa::step,
    qa::stepped;

namespace {

copy::sptr copy_on(const std::string& device, size_t item_size)
{
    copy::parameters p;
    p.item_size = int(item_size);
    p.device = device;
    return copy::make(p);
}

gr::basic_block_sptr copy_block(size_t item_size)
{
    return copy_on("emulated", item_size);
}

//! A block whose work cannot be done, on the CPU.
class failing : public device_block
{
public:
    failing()
        : gr::block("failing",
                    signature_on(device::select("cpu"), 1, 4),
                    signature_on(device::select("cpu"), 1, 4)),
          device_block(device::select("cpu"))
    {
    }

    int process(int,
                gr_vector_int&,
                gr_vector_const_void_star&,
                gr_vector_void_star&) override
    {
        throw std::runtime_error("the test wanted an error");
    }
};

//! A copy that does with its numbers of items what the test wants.
class misusing : public device_block
{
public:
    using numbers = std::function<int(misusing&, int room, int offered)>;

    misusing(const std::string& on, numbers call)
        : gr::block("misusing",
                    signature_on(device::select(on), 1, 4),
                    signature_on(device::select(on), 1, 4)),
          device_block(device::select(on)),
          d_call(std::move(call))
    {
        call_rules rules;
        rules.most_idle = 0;
        set_call_rules(rules);
        set_latency(0);
    }

    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star&,
                gr_vector_void_star&) override
    {
        return d_call(*this, noutput_items, ninput_items[0]);
    }

    using device_block::consume;
    using device_block::consume_each;
    using device_block::produce;

private:
    const numbers d_call;
};

//! A block that makes its ports by itself.
class without_signature : public device_block
{
public:
    without_signature(const std::string& on,
                      gr::io_signature::sptr in,
                      gr::io_signature::sptr out)
        : gr::block("without_signature", in, out), device_block(device::select(on))
    {
    }
    int process(int,
                gr_vector_int&,
                gr_vector_const_void_star&,
                gr_vector_void_star&) override
    {
        return WORK_DONE;
    }
};

template <class checked>
void assert_right(const std::shared_ptr<checked>& s, int64_t items)
{
    CPPUNIT_ASSERT_EQUAL(items, s->items.load());
    CPPUNIT_ASSERT_EQUAL(int64_t(0), s->wrong.load());
}

void assert_tags(const std::shared_ptr<sink>& s, int64_t tags)
{
    CPPUNIT_ASSERT_EQUAL(tags, s->tags.load());
    CPPUNIT_ASSERT_EQUAL(int64_t(0), s->wrong_tags.load());
}

} // namespace

/*!
 * Flowgraphs with device blocks on the emulated device: every way to wire them, and
 * items, calls and lives of every kind. All comparisons are exact.
 */
class qa_device_flow : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_device_flow);
    CPPUNIT_TEST(host_to_device_to_host);
    CPPUNIT_TEST(a_long_stream);
    CPPUNIT_TEST(host_to_two_devices);
    CPPUNIT_TEST(device_to_device_and_host);
    CPPUNIT_TEST(host_to_device_and_host);
    CPPUNIT_TEST(many_ports_every_mixture);
    CPPUNIT_TEST(sink_on_the_device);
    CPPUNIT_TEST(inside_a_hier_block);
    CPPUNIT_TEST(one_block_reads_an_edge_twice);
    CPPUNIT_TEST(history);
    CPPUNIT_TEST(tags);
    CPPUNIT_TEST(output_multiples);
    CPPUNIT_TEST(items_of_all_sizes);
    CPPUNIT_TEST(awkward_items_with_history);
    CPPUNIT_TEST(awkward_items_with_multiples);
    CPPUNIT_TEST(rings_hold_four_items);
    CPPUNIT_TEST(a_minimum_outlives_a_restart);
    CPPUNIT_TEST(calls_of_half_a_ring);
    CPPUNIT_TEST(slow_readers);
    CPPUNIT_TEST(latency_bounds_the_wait_for_more);
    CPPUNIT_TEST(integrator_does_not_wait_for_a_slow_reader);
    CPPUNIT_TEST(start_stop_start);
    CPPUNIT_TEST(memory_after_many_runs);
    CPPUNIT_TEST(lock_and_unlock);
    CPPUNIT_TEST(new_host_source_is_refused);
    CPPUNIT_TEST(edges_between_devices);
    CPPUNIT_TEST(edges_between_devices_restart);
    CPPUNIT_TEST(a_block_has_a_device_for_each_port);
    CPPUNIT_TEST(ports_on_cpu_and_device_are_refused);
    CPPUNIT_TEST(work_of_the_host);
    CPPUNIT_TEST(errors_in_work_of_the_host);
    CPPUNIT_TEST(errors_end_the_flowgraph);
    CPPUNIT_TEST(one_line_says_an_error);
    CPPUNIT_TEST(errors_on_the_cpu_end_it_too);
    CPPUNIT_TEST(ports_without_signature_on_are_refused);
    CPPUNIT_TEST(misuse_is_an_error);
    CPPUNIT_TEST(a_block_that_gets_nowhere_is_told_once);
    CPPUNIT_TEST(memory_that_does_not_fit);
    CPPUNIT_TEST(no_device_on_the_cpu);
    CPPUNIT_TEST_SUITE_END();

    gr::top_block_sptr d_top;

public:
    void setUp() override { d_top = gr::make_top_block("test"); }

    void tearDown() override
    {
        d_top.reset();
        CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
        CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::pinned_memory());
        CPPUNIT_ASSERT_EQUAL(0l, working_thread::forbidden_waits());
    }

    void chain(const std::vector<gr::basic_block_sptr>& blocks)
    {
        for (size_t i = 1; i < blocks.size(); i++)
            d_top->connect(blocks[i - 1], 0, blocks[i], 0);
    }

    void host_to_device_to_host()
    {
        const int64_t items = in_all(5000000, 1000000);
        auto s = make<source>(4, items);
        auto k = make<sink>(4, stepped(stepped(sequence())));
        chain({ s, make<step>(4), copy_block(4), make<step>(4), k });
        d_top->run();
        assert_right(k, items);
    }

    //! 10^8 items of 4 bytes, where all tests run
    void a_long_stream()
    {
        const int64_t items = in_all(100000000, 5000000);
        auto k = make<sink>(4, sequence());
        chain({ make<source>(4, items), copy_block(4), copy_block(4), k });
        d_top->run();
        assert_right(k, items);
    }

    void host_to_two_devices()
    {
        const int64_t items = 1000000;
        auto s = make<source>(4, items);
        auto a = make<sink>(4, stepped(sequence()));
        auto b = make<sink>(4, stepped(sequence(), 8));
        chain({ s, make<step>(4), a });
        chain({ s, make<step>(4, 8), b });
        d_top->run();
        assert_right(a, items);
        assert_right(b, items);
    }

    void device_to_device_and_host()
    {
        const int64_t items = 1000000;
        auto s = make<source>(4, items);
        auto first = make<step>(4);
        auto a = make<sink>(4, stepped(sequence()));
        auto b = make<sink>(4, stepped(stepped(sequence()), 32));
        chain({ s, first, a });
        chain({ first, make<step>(4, 32), b });
        d_top->run();
        assert_right(a, items);
        assert_right(b, items);
    }

    //! GNU Radio wires blocks in the order of their addresses: both orders are tried.
    void host_to_device_and_host()
    {
        const int64_t items = 300000;
        bool seen[2] = { false, false };
        std::vector<gr::basic_block_sptr> kept; // keeps addresses from being used again
        for (int round = 0; round < 100 && !(seen[0] && seen[1] && round >= 4); round++) {
            auto top = gr::make_top_block("test");
            auto s = make<source>(4, items);
            auto first = make<sink>(4, sequence());
            auto d = make<step>(4);
            auto second = make<sink>(4, sequence());
            auto a = round % 2 ? first : second;
            auto b = make<sink>(4, stepped(sequence()));
            top->connect(s, 0, a, 0);
            top->connect(s, 0, d, 0);
            top->connect(d, 0, b, 0);
            const gr::basic_block_sptr host = a, on_device = d;
            seen[host < on_device] = true;
            top->run();
            assert_right(a, items);
            assert_right(b, items);
            kept.insert(kept.end(), { s, first, d, second, b });
        }
        CPPUNIT_ASSERT(seen[0] && seen[1]);
    }

    void many_ports_every_mixture()
    {
        const int64_t items = 300000;
        auto s = make<source>(4, items, 0, 4);
        std::vector<std::shared_ptr<sink>> sinks;
        auto check = [&](const gr::basic_block_sptr& from, int port, qa::model m) {
            sinks.push_back(make<sink>(4, m));
            d_top->connect(from, port, sinks.back(), 0);
        };
        for (int port = 0; port < 4; port++) {
            const auto m = sequence(port);
            auto a = make<step>(4, port), b = make<step>(4), c = make<step>(4, 2);
            check(s, port, m);
            d_top->connect(s, port, a, 0);
            d_top->connect(s, port, c, 0);
            check(a, 0, stepped(m, port));
            check(a, 0, stepped(m, port));
            d_top->connect(a, 0, b, 0);
            check(b, 0, stepped(stepped(m, port)));
            check(c, 0, stepped(m, 2));
        }
        d_top->run();
        for (const auto& k : sinks)
            assert_right(k, items);
    }

    void sink_on_the_device()
    {
        const int64_t items = 1000000;
        auto s = make<source>(4, items);
        auto a = make<device_sink>(4, sequence());
        auto b = make<device_sink>(4, stepped(sequence()));
        chain({ s, a });
        chain({ s, make<step>(4), b });
        d_top->run();
        assert_right(a, items);
        assert_right(b, items);
    }

    void inside_a_hier_block()
    {
        struct wrapped : public gr::hier_block2 {
            wrapped()
                : gr::hier_block2("wrapped",
                                  gr::io_signature::make(1, 1, 4),
                                  gr::io_signature::make(1, 1, 4))
            {
                a = make<step>(4);
                b = make<step>(4, 6);
            }
            void connect_all()
            {
                connect(self(), 0, a, 0);
                connect(a, 0, b, 0);
                connect(b, 0, self(), 0);
            }
            std::shared_ptr<step> a, b;
        };
        const int64_t items = 300000;
        auto s = make<source>(4, items);
        auto h = gnuradio::get_initial_sptr(new wrapped);
        h->connect_all();
        auto k = make<sink>(4, stepped(stepped(sequence()), 6));
        chain({ s, h, k });
        d_top->run();
        assert_right(k, items);
    }

    void one_block_reads_an_edge_twice()
    {
        //! y[i] = a[i] - b[i]
        struct difference : public device_block {
            difference()
                : gr::block("difference",
                            signature_on(device::select("emulated"), 2, 4),
                            signature_on(device::select("emulated"), 1, 4)),
                  device_block(device::select("emulated"))
            {
            }
            int process(int noutput_items,
                        gr_vector_int& ninput_items,
                        gr_vector_const_void_star& input_items,
                        gr_vector_void_star& output_items) override
            {
                const int n =
                    std::min({ noutput_items, ninput_items[0], ninput_items[1] });
                auto* a = static_cast<const uint8_t*>(input_items[0]);
                auto* b = static_cast<const uint8_t*>(input_items[1]);
                auto* out = static_cast<uint8_t*>(output_items[0]);
                dynamic_cast<emulated::stream&>(work_stream()).run([=] {
                    constexpr auto m = emulated::mask;
                    for (int i = 0; i < 4 * n; i++)
                        out[i] = uint8_t((a[i] ^ m) - (b[i] ^ m)) ^ m;
                });
                consume_each(n);
                return n;
            }
        };
        const int64_t items = 300000;
        auto s = make<source>(4, items);
        auto d = make<difference>();
        auto k = make<sink>(4, qa::each_byte([](int64_t, size_t) { return 0; }));
        d_top->connect(s, 0, d, 0);
        d_top->connect(s, 0, d, 1);
        d_top->connect(d, 0, k, 0);
        d_top->run();
        assert_right(k, items);
    }

    void history()
    {
        const int64_t items = in_all(1000000, 300000);
        for (int delay : { 1, 7, 1000, 9001 }) {
            d_top = gr::make_top_block("test");
            auto k = make<sink>(4, stepped(stepped(sequence(), delay), 3));
            chain({ make<source>(4, items), make<step>(4, delay), make<step>(4, 3), k });
            d_top->run();
            assert_right(k, items);
        }
    }

    void tags()
    {
        const int64_t items = 1000000;
        auto s = make<source>(4, items, 997);
        auto k = make<sink>(4, stepped(stepped(sequence(), 10)));
        auto tap = make<sink>(4, sequence());
        chain({ s, make<step>(4, 10), make<step>(4), k });
        d_top->connect(s, 0, tap, 0);
        d_top->run();
        assert_right(k, items);
        assert_tags(k, (items + 996) / 997);
        assert_tags(tap, (items + 996) / 997);
    }

    void output_multiples()
    {
        const int64_t items = 1000000, multiple = 4801;
        auto k = make<sink>(4, stepped(stepped(sequence())));
        chain({ make<source>(4, items), make<step>(4, 0, multiple), make<step>(4), k });
        d_top->run();
        assert_right(k, items / multiple * multiple);
    }

    void items_of_all_sizes()
    {
        for (size_t size : { 1u,
                             3u,
                             4u,
                             8u,
                             12u,
                             1000u,
                             4096u,
                             8000u,
                             65536u,
                             100003u,
                             440000u,
                             524288u }) {
            const int64_t items =
                std::max(in_all(20, 12), in_all(2000000, 500000) / int(size));
            d_top = gr::make_top_block("test");
            auto s = make<source>(size, items);
            auto c = copy_block(size);
            auto k = make<sink>(size, stepped(sequence()));
            auto tap = make<sink>(size, sequence());
            chain({ s, c, make<step>(size), k });
            d_top->connect(c, 0, tap, 0);
            d_top->run();
            assert_right(k, items);
            assert_right(tap, items);
        }
    }

    //! Rings that cannot be mapped twice, read with and without history.
    void awkward_items_with_history()
    {
        const qa::emulation restored;
        emulated::current_settings().granularity = 2 << 20;
        for (size_t size : { 8000u, 100003u, 440000u }) {
            const int64_t items = in_all(8000000, 4000000) / int64_t(size);
            d_top = gr::make_top_block("test");
            auto s = make<source>(size, items);
            auto first = make<step>(size, 2), second = make<step>(size, 1);
            auto k = make<sink>(size, stepped(stepped(sequence(), 2), 1));
            auto c = copy_block(size);
            auto a = make<sink>(size, stepped(sequence(), 2));
            auto b = make<sink>(size, sequence());
            chain({ s, first, second, k });
            chain({ first, copy_block(size), a });
            chain({ s, c, b });
            d_top->run();
            assert_right(k, items);
            assert_right(a, items);
            assert_right(b, items);
        }
    }

    void awkward_items_with_multiples()
    {
        const qa::emulation restored;
        emulated::current_settings().granularity = 2 << 20;
        const size_t size = 8000;
        const int64_t items = in_all(3000, 1000);
        auto k = make<sink>(size, stepped(stepped(sequence())));
        chain({ make<source>(size, items), make<step>(size, 0, 3), make<step>(size), k });
        d_top->run();
        assert_right(k, items / 3 * 3);
    }

    void rings_hold_four_items()
    {
        const size_t size = 524288; // GNU Radio's own buffers would hold one or two
        auto s = make<source>(size, 10);
        auto c = copy_block(size);
        auto k = make<sink>(size, sequence());
        chain({ s, c, k });
        d_top->run();
        assert_right(k, 10);
        for (const auto& b : { gr::cast_to_block_sptr(s), gr::cast_to_block_sptr(c) })
            CPPUNIT_ASSERT(b->detail()->output(0)->bufsize() >= 4);
    }

    void a_minimum_outlives_a_restart()
    {
        auto s = make<source>(4, 100000);
        auto d = make<step>(4);
        auto k = make<sink>(4, stepped(sequence()));
        s->set_min_output_buffer(0, 1 << 18);
        d->set_min_output_buffer(0, 1 << 19);
        chain({ s, d, k });
        for (int run = 0; run < 3; run++) {
            d_top->run();
            assert_right(k, 100000);
            CPPUNIT_ASSERT(s->detail()->output(0)->bufsize() >= 1 << 18);
            CPPUNIT_ASSERT(d->detail()->output(0)->bufsize() >= 1 << 19);
        }
    }

    //! GNU Radio would limit calls to what its own buffers hold.
    void calls_of_half_a_ring()
    {
        const qa::emulation restored;
        emulated::current_settings().default_ring = 1 << 20;
        for (int limit : { 0, 1000 }) {
            d_top = gr::make_top_block("test");
            auto s = make<qa::device_source>(4, 2000000);
            auto k =
                make<device_sink>(4, qa::each_byte([](int64_t, size_t) { return 0; }));
            if (limit)
                s->set_max_noutput_items(limit);
            chain({ s, k });
            for (int run = 0; run < 2; run++) {
                s->largest_call = 0;
                d_top->run();
                assert_right(k, 2000000);
                const int half = s->detail()->output(0)->bufsize() / 2;
                CPPUNIT_ASSERT(half >= 1 << 17);
                CPPUNIT_ASSERT_EQUAL(limit ? limit : half, s->largest_call);
            }
        }
    }

    void slow_readers()
    {
        const int64_t items = 1000000;
        auto s = make<source>(4, items);
        auto first = make<step>(4), slow = make<step>(4);
        slow->pause = 2000;
        auto a = make<sink>(4, stepped(sequence()), 3000);
        auto b = make<sink>(4, stepped(stepped(sequence())));
        auto c = make<sink>(4, sequence(), 1000);
        chain({ s, first, a });
        chain({ first, slow, b });
        d_top->connect(s, 0, c, 0);
        d_top->run();
        assert_right(a, items);
        assert_right(b, items);
        assert_right(c, items);
    }

    /*!
     * A block that consumes much and produces little, before a reader whose first call
     * does not end before all was consumed. If the buffer made the block wait until no
     * pointer is in use, as GNU Radio's own do, it would wait for ever.
     */
    void integrator_does_not_wait_for_a_slow_reader()
    {
        struct integrator : public device_block {
            integrator()
                : gr::block("integrator",
                            signature_on(device::select("emulated"), 1, 4),
                            signature_on(device::select("emulated"), 1, 4)),
                  device_block(device::select("emulated"))
            {
            }
            void forecast(int, gr_vector_int& required) override { required[0] = 1; }
            int process(int,
                        gr_vector_int& ninput_items,
                        gr_vector_const_void_star&,
                        gr_vector_void_star&) override
            {
                const int n = std::min({ ninput_items[0], 40000 - summed, 4096 });
                summed = (summed + n) % 40000;
                consume_each(n);
                total += n;
                return summed == 0;
            }
            int summed = 0;
            std::atomic<int64_t> total{ 0 };
        };
        const int64_t items = 4000000;
        auto d = make<integrator>();
        auto k = make<sink>(4, qa::each_byte([](int64_t, size_t) { return 0; }));
        bool called = false, all_taken = false;
        k->in_call = [&] {
            if (!std::exchange(called, true))
                all_taken = qa::comes_true([&] { return d->total == items; });
        };
        chain({ make<source>(4, items), d, k });
        d_top->run();
        CPPUNIT_ASSERT_EQUAL(items, d->total.load());
        CPPUNIT_ASSERT(all_taken);
    }

    //! Items come one by one while the device is busy for longer than a call may wait.
    void latency_bounds_the_wait_for_more()
    {
        struct drip : public gr::sync_block {
            explicit drip(const step& reader)
                : gr::sync_block("drip",
                                 gr::io_signature::make(0, 0, 0),
                                 gr::io_signature::make(1, 1, 4)),
                  d_reader(reader)
            {
            }
            int work(int, gr_vector_const_void_star&, gr_vector_void_star&) override
            {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                // the others are not there at the first call
                if (d_sent == 1 && !qa::comes_true([this] { return d_reader.calls > 0; }))
                    return WORK_DONE;
                return d_sent++ < 100 ? 1 : int(WORK_DONE);
            }
            const step& d_reader;
            int d_sent = 0;
        };
        for (double latency : { 0., 0.2 }) {
            auto busy = make<step>(4);
            busy->whole_calls = true;
            // the first kernel does not end before there was a second call
            bool called_again = false;
            busy->in_kernel = [&called_again, block = busy.get()](int call) {
                if (call == 1)
                    called_again = qa::comes_true([block] { return block->calls > 1; });
            };
            busy->set_latency(latency);
            auto k =
                make<device_sink>(4, qa::each_byte([](int64_t, size_t) { return 1; }));
            d_top = gr::make_top_block("test");
            chain({ make<drip>(*busy), busy, k });
            d_top->run();
            CPPUNIT_ASSERT_EQUAL(int64_t(100), k->items.load());
            const std::chrono::duration<double> wait =
                busy->call_times.at(1) - busy->call_times.at(0);
            CPPUNIT_ASSERT(wait.count() >= latency);
            CPPUNIT_ASSERT(called_again);
        }
        for (double refused : { -0.1, 10.1, double(NAN) })
            CPPUNIT_ASSERT_THROW(make<step>(4)->set_latency(refused),
                                 std::invalid_argument);
    }

    void start_stop_start()
    {
        const int64_t items = 200000;
        auto s = make<source>(4, items);
        auto d = make<step>(4, 9);
        auto k = make<sink>(4, stepped(sequence(), 9));
        auto tap = make<sink>(4, sequence());
        chain({ s, d, k });
        d_top->connect(s, 0, tap, 0);
        for (int run = 0; run < 5; run++) {
            d_top->run();
            assert_right(k, items);
            assert_right(tap, items);
            d_top->start(); // stopped in the middle
            d_top->stop();
            d_top->wait();
            CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
        }
    }

    void memory_after_many_runs()
    {
        auto s = make<source>(4, 100000);
        auto d = make<step>(4, 9);
        auto k = make<sink>(4, stepped(sequence(), 9));
        auto c = copy_block(4);
        chain({ s, d, c, k });
        size_t pinned = 0;
        long buffers = 0;
        for (int run = 0; run < 20; run++) {
            d_top->run();
            // no memory is kept, not even that of one run
            CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
            if (run == 0) {
                pinned = emulated::pinned_memory();
                buffers = gr::buffer_ncurrently_allocated();
            }
            CPPUNIT_ASSERT_EQUAL(pinned, emulated::pinned_memory());
            CPPUNIT_ASSERT_EQUAL(buffers, gr::buffer_ncurrently_allocated());
        }
    }

    /*!
     * After lock() and unlock() counters start at 0 and items under way are lost, in GNU
     * Radio itself: the test checks that a stream goes on without a wrong item.
     */
    void lock_and_unlock()
    {
        for (int change = 0; change < 6; change++) {
            auto top = gr::make_top_block("test");
            //! Numbers follow each other, whatever the first one is.
            struct follower : public gr::sync_block {
                follower()
                    : gr::sync_block("follower",
                                     gr::io_signature::make(1, 1, 4),
                                     gr::io_signature::make(0, 0, 0))
                {
                }
                bool start() override
                {
                    d_known = false;
                    return true;
                }
                int work(int n,
                         gr_vector_const_void_star& input_items,
                         gr_vector_void_star&) override
                {
                    auto* in = static_cast<const uint32_t*>(input_items[0]);
                    for (int i = 0; i < n; i++) {
                        if (d_known && in[i] != d_next)
                            wrong++;
                        d_known = true;
                        d_next = in[i] + 1;
                    }
                    items += n;
                    return n;
                }
                std::atomic<int64_t> items{ 0 }, wrong{ 0 };

            private:
                bool d_known = false;
                uint32_t d_next = 0;
            };
            struct counter : public gr::sync_block {
                counter()
                    : gr::sync_block("counter",
                                     gr::io_signature::make(0, 0, 0),
                                     gr::io_signature::make(1, 1, 4))
                {
                }
                int work(int n,
                         gr_vector_const_void_star&,
                         gr_vector_void_star& output_items) override
                {
                    auto* out = static_cast<uint32_t*>(output_items[0]);
                    for (int i = 0; i < n; i++)
                        out[i] = d_next++;
                    return n;
                }
                uint32_t d_next = 0;
            };
            auto s = make<counter>();
            auto a = copy_block(4), b = copy_block(4);
            auto first = make<follower>(), second = make<follower>();
            top->connect(s, 0, a, 0);
            top->connect(a, 0, first, 0);
            if (change == 5)
                top->connect(a, 0, b, 0), top->connect(b, 0, second, 0);
            top->start();
            auto flows = [](const std::shared_ptr<follower>& f) {
                const int64_t before = f->items;
                CPPUNIT_ASSERT(
                    qa::comes_true([&] { return f->items >= before + 100000; }));
                CPPUNIT_ASSERT_EQUAL(int64_t(0), f->wrong.load());
            };
            flows(first);
            top->lock();
            switch (change) {
            case 0: // a host reader on a device output
                top->connect(a, 0, second, 0);
                break;
            case 1: // a device reader on a device output
                top->connect(a, 0, b, 0);
                top->connect(b, 0, second, 0);
                break;
            case 2: // a second device reader on a host source
                top->connect(s, 0, b, 0);
                top->connect(b, 0, second, 0);
                break;
            case 3: // a device block in between
                top->disconnect(a, 0, first, 0);
                top->connect(a, 0, b, 0);
                top->connect(b, 0, first, 0);
                top->connect(b, 0, second, 0);
                break;
            case 4: // a host reader on a host source that feeds a device
                top->connect(s, 0, second, 0);
                break;
            case 5: // the device reader of a device output goes away
                top->disconnect(a, 0, b, 0);
                top->disconnect(b, 0, second, 0);
                break;
            }
            top->unlock();
            flows(first);
            if (change != 5)
                flows(second);
            top->stop();
            top->wait();
        }
    }

    void new_host_source_is_refused()
    {
        const int64_t endless = int64_t(1) << 50;
        auto s = make<source>(4, endless), other = make<source>(4, endless);
        auto d = make<step>(4);
        auto k = make<sink>(4, stepped(sequence()));
        chain({ s, d, k });
        d_top->start();
        CPPUNIT_ASSERT(qa::comes_true([&] { return k->items > 0; }));
        d_top->lock();
        d_top->disconnect(s, 0, d, 0);
        d_top->connect(other, 0, d, 0);
        d_top->unlock();
        d_top->wait(); // the flowgraph ends by itself
        CPPUNIT_ASSERT(d->error().find("input 0: its data is in host memory") == 0);
        // a new start is all it takes
        d_top->start();
        const bool flows =
            qa::comes_true([&] { return k->items > 0 || !d->error().empty(); });
        d_top->stop();
        d_top->wait();
        CPPUNIT_ASSERT_EQUAL(std::string(), d->error());
        CPPUNIT_ASSERT(flows);
        CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
    }

    /*!
     * Readers on three devices and the host at one edge, of a writer on each of them:
     * items whose rings are mapped twice, twins, and single ones.
     */
    void edges_between_devices()
    {
        struct kind {
            size_t size;
            int64_t items;
            int history;
        };
        for (const bool peers : { true, false })
            for (const kind& c : { kind{ 4, in_all(300001, 60001), 0 },
                                   kind{ 8, in_all(100003, 30003), 99 },
                                   kind{ 100003, in_all(70, 12), 0 },
                                   kind{ 100003, in_all(70, 12), 2 } })
                for (const std::string from : { "host", "emulated", "emulated:2" }) {
                    const qa::emulation settings;
                    emulated::current_settings().peers = peers;
                    d_top = gr::make_top_block("test");
                    gr::basic_block_sptr writer = make<source>(c.size, c.items);
                    auto m = sequence();
                    if (from != "host") {
                        auto first = make<step>(c.size, 0, 1, from);
                        d_top->connect(writer, 0, first, 0);
                        writer = first;
                        m = stepped(m);
                    }
                    std::vector<std::shared_ptr<sink>> sinks{ make<sink>(c.size, m) };
                    d_top->connect(writer, 0, sinks[0], 0);
                    for (const char* to : { "emulated", "emulated:1", "emulated:2" }) {
                        auto reader = make<step>(c.size, c.history, 1, to);
                        // goes on from there
                        auto next = make<step>(c.size, 0, 1, "emulated:1");
                        sinks.push_back(
                            make<sink>(c.size, stepped(stepped(m, c.history))));
                        d_top->connect(writer, 0, reader, 0);
                        d_top->connect(reader, 0, next, 0);
                        d_top->connect(next, 0, sinks.back(), 0);
                    }
                    d_top->run();
                    for (const auto& k : sinks)
                        assert_right(k, c.items);
                }
    }

    //! Sources that repeat themselves, new starts, and locks; all memory is released.
    void edges_between_devices_restart()
    {
        auto s = make<source>(4, 100003);
        auto one = make<step>(4), two = make<step>(4, 7, 1, "emulated:1");
        auto k = make<sink>(4, stepped(stepped(sequence()), 7));
        chain({ s, one, two, k });
        for (int start = 0; start < 5; start++) {
            d_top->run();
            assert_right(k, 100003);
            CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
        }
        d_top = gr::make_top_block("test");
        auto endless = make<source>(4, int64_t(1) << 50);
        auto end = make<device_sink>(4, stepped(sequence()), "emulated:1");
        chain({ endless, one, end });
        d_top->start();
        for (int i = 0; i < 5; i++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            auto other = make<device_sink>(
                4, qa::each_byte([](int64_t, size_t) { return 0; }), "emulated:2");
            d_top->lock();
            d_top->connect(one, 0, other, 0);
            d_top->unlock();
            CPPUNIT_ASSERT(
                qa::comes_true([&] { return end->items > 0 && other->items > 0; }));
            d_top->lock();
            d_top->disconnect(one, 0, other, 0);
            d_top->unlock();
        }
        d_top->stop();
        d_top->wait();
        CPPUNIT_ASSERT_EQUAL(std::string(), end->error() + one->error());
        CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
    }

    //! Two inputs on one device, added bytewise, go to another device.
    struct mover : public device_block {
        mover(const device& from, const device& to)
            : gr::block("mover", signature_on(from, 2, 3), signature_on(to, 1, 3)),
              device_block(from, { from }, { to })
        {
            set_latency(0);
        }
        int process(int noutput_items,
                    gr_vector_int& ninput_items,
                    gr_vector_const_void_star& input_items,
                    gr_vector_void_star& output_items) override
        {
            const int n = std::min({ noutput_items, ninput_items[0], ninput_items[1] });
            const size_t bytes = size_t(n) * 3;
            stream &from = input_stream(1), &to = output_stream(0);
            from.wait(to.record()); // items that the output's readers still read
            run_on_host(from,
                        { { input_items[0], bytes }, { input_items[1], bytes } },
                        { { output_items[0], bytes } },
                        [bytes](const auto& in, const auto& out) {
                            auto* a = static_cast<const uint8_t*>(in[0]);
                            auto* b = static_cast<const uint8_t*>(in[1]);
                            for (size_t i = 0; i < bytes; i++)
                                static_cast<uint8_t*>(out[0])[i] = a[i] + b[i];
                        });
            to.wait(from.record());
            consume_each(n);
            return n;
        }
    };

    void a_block_has_a_device_for_each_port()
    {
        const auto first = device::select("emulated"),
                   second = device::select("emulated:1");
        const qa::emulation settings;
        emulated::current_settings().delay = 300;
        for (int start = 0; start < 2; start++) {
            auto s = make<source>(3, 300001);
            auto a = copy_on("emulated", 3), b = copy_on("emulated", 3),
                 c = copy_on("emulated:1", 3);
            auto m = make<mover>(first, second);
            CPPUNIT_ASSERT(m->input_device(1) == first && m->output_device(0) == second);
            auto k = make<sink>(3, qa::each_byte([](int64_t i, size_t byte) {
                                    return uint8_t(2 * qa::sequence_byte(i * 3 + byte));
                                }));
            d_top = gr::make_top_block("test");
            d_top->connect(s, 0, a, 0);
            d_top->connect(s, 0, b, 0);
            d_top->connect(a, 0, m, 0);
            d_top->connect(b, 0, m, 1);
            d_top->connect(m, 0, c, 0);
            d_top->connect(c, 0, k, 0);
            d_top->run();
            for (const auto& block : { a, b, c })
                CPPUNIT_ASSERT_EQUAL(std::string(), block->error());
            assert_right(k, 300001);
            if (start == 0) { // beside a host source and a host sink
                auto other = make<mover>(first, second);
                auto host =
                    make<sink>(3, qa::each_byte([](int64_t i, size_t byte) {
                                   return uint8_t(2 * qa::sequence_byte(i * 3 + byte));
                               }));
                d_top = gr::make_top_block("test");
                auto all = make<source>(3, 100003);
                d_top->connect(all, 0, other, 0);
                d_top->connect(all, 0, other, 1);
                d_top->connect(other, 0, host, 0);
                d_top->run();
                assert_right(host, 100003);
            }
        }
    }

    void ports_on_cpu_and_device_are_refused()
    {
        try {
            make<mover>(device::select("emulated"), device::select("cpu"));
            CPPUNIT_FAIL("no error");
        } catch (const std::invalid_argument& e) {
            CPPUNIT_ASSERT_EQUAL(
                std::string(
                    "devices of ports: cpu is not allowed beside emulated: either "
                    "all are the CPU, or all have memory of their own"),
                std::string(e.what()));
        }
    }

    //! y = 3 x by work of the host, on each device that it may be given to.
    struct tripler : public device_block {
        tripler(const std::string& name, int fail_at)
            : gr::block("tripler",
                        signature_on(device::select(name), 1, 5),
                        signature_on(device::select(name), 1, 5)),
              device_block(device::select(name)),
              calls_left(fail_at)
        {
        }
        int process(int noutput_items,
                    gr_vector_int& ninput_items,
                    gr_vector_const_void_star& input_items,
                    gr_vector_void_star& output_items) override
        {
            const int n = std::min({ noutput_items, ninput_items[0], 4321 });
            const size_t bytes = size_t(n) * 5;
            const bool fails = --calls_left == 0;
            run_on_host(work_stream(),
                        { { input_items[0], bytes } },
                        { { output_items[0], bytes } },
                        [bytes, fails](const auto& in, const auto& out) {
                            if (fails)
                                throw std::runtime_error("the host gave up");
                            for (size_t i = 0; i < bytes; i++)
                                static_cast<uint8_t*>(out[0])[i] =
                                    3 * static_cast<const uint8_t*>(in[0])[i];
                        });
            consume_each(n);
            return n;
        }
        int calls_left;
    };

    void ports_without_signature_on_are_refused()
    {
        const auto plain = gr::io_signature::make(1, 1, 4),
                   none = gr::io_signature::make(0, 0, 0);
        for (const std::string on : { "cpu", "emulated" }) {
            const auto d = device::select(on);
            const auto made = signature_on(d, 1, 4);
            const auto refused = [&](const gr::io_signature::sptr& in,
                                     const gr::io_signature::sptr& out,
                                     const std::string& side,
                                     const std::string& right) {
                try {
                    make<without_signature>(on, in, out);
                    CPPUNIT_FAIL(on + ": no error");
                } catch (const std::invalid_argument& e) {
                    CPPUNIT_ASSERT_EQUAL("without_signature: the " + side +
                                             " signature was not made by signature_on() "
                                             "for " +
                                             on +
                                             ", so that its items would be "
                                             "in the memory of the host; it must be "
                                             "signature_on(device, " +
                                             right,
                                         std::string(e.what()));
                }
            };
            refused(plain, made, "input", "1, 4)");
            refused(made, plain, "output", "1, 4)");
            refused(none, plain, "output", "1, 4)");
            refused(
                made, none, "output", "0, size), also of a sink, which has no outputs");
            make<without_signature>(on, made, made);
            make<without_signature>(on, made, signature_on(d, 0, 4));
            make<without_signature>(on, none, made);
            make<without_signature>(on, none, none); // messages only
        }
        try { // a device of another kind
            make<without_signature>("emulated",
                                    signature_on(device::select("cpu"), 1, 4),
                                    signature_on(device::select("emulated"), 1, 4));
            CPPUNIT_FAIL("no error");
        } catch (const std::invalid_argument&) {
        }
    }

    //! Errors that would be a crash, or a flowgraph that never ends.
    void misuse_is_an_error()
    {
        const std::vector<std::pair<misusing::numbers, std::string>> cases{
            { [](misusing& b, int room, int) { return b.consume_each(1), room + 1; },
              "there is room for " },
            { [](misusing&, int, int) { return -7; }, "process() returned -7: " },
            { [](misusing& b, int, int offered) {
                 return b.consume_each(offered + 1), 1;
             },
              " (ninput_items)" },
            { [](misusing& b, int, int) { return b.consume(0, -1), 1; },
              "consume() of -1 items of input 0" },
            { [](misusing& b, int, int) { return b.consume(1, 1), 1; },
              "consume() of input 1: the block has 1 inputs" },
            { [](misusing& b, int room, int) { return b.produce(0, room + 1), -2; },
              " (noutput_items)" },
            { [](misusing&, int room, int) { return room; },
              "has never consumed one of its inputs. It must consume() what it has "
              "read" },
            { [](misusing&, int, int) { return 0; },
              "process() has taken and made nothing for 0 s, though its inputs have "
              "ended, "
              "and would never end; items that wait: 1001 at input 0. It must "
              "consume()" },
        };
        for (const char* on : { "cpu", "emulated" })
            for (const auto& [call, text] : cases) {
                auto b = make<misusing>(on, call);
                d_top = gr::make_top_block("test");
                chain({ make<source>(4, 1001), b, make<sink>(4, sequence()) });
                d_top->run(); // the flowgraph ends by itself
                CPPUNIT_ASSERT_MESSAGE(b->error() + ": not \"" + text + "\"",
                                       b->error().find(text) != std::string::npos);
            }
    }

    //! A block without input is not ended while more may come: it may wait for a message.
    void a_block_that_gets_nowhere_is_told_once()
    {
        static std::ostringstream log; // GNU Radio keeps what writes to it
        auto lines = std::make_shared<spdlog::sinks::ostream_sink_mt>(log);
        gr::logging::singleton().add_default_sink(lines);
        for (const char* on : { "cpu", "emulated" }) {
            log.str("");
            int idle = 0;
            auto b = make<misusing>(on, [&idle](misusing& self, int room, int offered) {
                // the ring is full long before
                if (++idle < 20000)
                    return 0;
                const int n = std::min(room, offered);
                self.consume_each(n);
                return idle < 20010 ? n : int(gr::block::WORK_DONE);
            });
            d_top = gr::make_top_block("test");
            chain({ make<source>(4, int64_t(1) << 50), b, make<sink>(4, sequence()) });
            d_top->run();
            CPPUNIT_ASSERT_EQUAL(std::string(), b->error());
            const std::string all = log.str(),
                              line = "process() has taken and made nothing for 0 s, "
                                     "though there are items: ";
            const size_t at = all.find(line);
            CPPUNIT_ASSERT_MESSAGE(all, at != std::string::npos);
            CPPUNIT_ASSERT(all.find(line, at + 1) == std::string::npos);
        }
        lines->set_level(spdlog::level::off);
    }

    void work_of_the_host()
    {
        for (const char* name : { "cpu", "emulated", "emulated:1" }) {
            auto k = make<sink>(5, qa::each_byte([](int64_t i, size_t b) {
                                    return uint8_t(3 * qa::sequence_byte(i * 5 + b));
                                }));
            d_top = gr::make_top_block("test");
            chain({ make<source>(5, 200003), make<tripler>(name, 0), k });
            d_top->run();
            assert_right(k, 200003);
        }
    }

    void errors_in_work_of_the_host()
    {
        for (const char* name : { "cpu", "emulated" }) {
            auto t = make<tripler>(name, 3);
            d_top = gr::make_top_block("test");
            chain({ make<source>(5, int64_t(1) << 50), t, make<sink>(5, sequence()) });
            d_top->run(); // the flowgraph ends by itself
            CPPUNIT_ASSERT_EQUAL(std::string("the host gave up"), t->error());
        }
    }

    void errors_end_the_flowgraph()
    {
        enum { in_call, in_kernel, in_kernel_within_call };
        for (int where : { in_call, in_kernel, in_kernel_within_call }) {
            d_top = gr::make_top_block("test");
            auto s = make<source>(4, int64_t(1) << 50);
            auto d = make<step>(4), e = make<step>(4);
            (where == in_call ? d->fail_at : d->fail_in_kernel_at) = 5;
            d->fail_within_call = where == in_kernel_within_call;
            auto k = make<sink>(4, stepped(stepped(sequence())));
            chain({ s, d, e, k });
            d_top->run(); // the flowgraph ends by itself
            CPPUNIT_ASSERT_EQUAL(
                std::string(where == in_call ? "the test wanted an error"
                                             : "the test wanted an error in a kernel"),
                d->error());
            CPPUNIT_ASSERT_EQUAL(std::string(), e->error());
            if (where == in_call)
                CPPUNIT_ASSERT_EQUAL(int64_t(0), k->wrong.load());
        }
    }

    //! An error that several blocks meet is logged once, and in the next run again.
    void one_line_says_an_error()
    {
        static std::ostringstream log; // GNU Radio keeps what writes to it
        auto lines = std::make_shared<spdlog::sinks::ostream_sink_mt>(log);
        gr::logging::singleton().add_default_sink(lines);
        for (int run = 1; run <= 2; run++) {
            d_top = gr::make_top_block("test");
            for (int branch = 0; branch < 3; branch++) {
                auto d = make<step>(4);
                d->fail_in_kernel_at = 5;
                chain(
                    { make<source>(4, int64_t(1) << 50), d, make<sink>(4, sequence()) });
            }
            d_top->run();
            d_top.reset();
            const std::string all = log.str(), line = "error: the test wanted an error";
            int found = 0;
            for (size_t at = 0; (at = all.find(line, at)) != std::string::npos; at++)
                found++;
            CPPUNIT_ASSERT_EQUAL(run, found);
        }
        lines->set_level(spdlog::level::off);
    }

    void errors_on_the_cpu_end_it_too()
    {
        auto d = make<failing>();
        chain({ make<source>(4, int64_t(1) << 50), d, make<sink>(4, sequence()) });
        d_top->run();
        CPPUNIT_ASSERT_EQUAL(std::string("the test wanted an error"), d->error());
    }

    void memory_that_does_not_fit()
    {
        const qa::emulation restored;
        emulated::current_settings().memory_size = 100000;
        auto d = make<step>(4);
        chain({ make<source>(4, 1000000), d, make<sink>(4, stepped(sequence())) });
        d_top->run();
        CPPUNIT_ASSERT_EQUAL(
            std::string(
                "output 0: emulated: 69632 bytes of device memory were asked for, "
                "30368 of 100000 are free"),
            d->error());
    }

    void no_device_on_the_cpu()
    {
        copy::parameters p;
        p.item_size = 12;
        p.device = "cpu";
        auto c = copy::make(p);
        CPPUNIT_ASSERT(c->input_signature()->stream_buffer_type(0) ==
                       gr::buffer_double_mapped::type);
        auto k = make<sink>(12, sequence());
        chain({ make<source>(12, 100000), c, k });
        d_top->run();
        assert_right(k, 100000);
        CPPUNIT_ASSERT(!std::dynamic_pointer_cast<device_buffer>(c->detail()->output(0)));
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_device_flow);
