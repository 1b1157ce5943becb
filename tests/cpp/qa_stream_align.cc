/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <gnuradio/aperture/stream_align.h>
#include <gnuradio/aperture/tags.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <cppunit/extensions/HelperMacros.h>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

using namespace gr::aperture;
using namespace std::chrono_literals;

namespace {

using cfloat = std::complex<float>;

//! Receivers of the same noise, each from its own sample on, without end; no item comes
//! while they pause.
class receiver : public gr::sync_block
{
public:
    explicit receiver(int64_t first)
        : gr::sync_block("receiver",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, sizeof(cfloat))),
          d_first(first)
    {
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        for (auto& value : d_noise)
            value = { normal(random), normal(random) };
    }

    int work(int items, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        if (pauses) {
            std::this_thread::sleep_for(1ms);
            return 0;
        }
        if (nitems_written(0) == 0)
            add_item_tag(0, 0, pmt::mp(tags::rx_rate), pmt::from_double(1e6));
        auto* samples = static_cast<cfloat*>(out[0]);
        for (int i = 0; i < items; i++)
            samples[i] = d_noise[(nitems_written(0) + i + d_first) % d_noise.size()];
        return items;
    }

    std::atomic<bool> pauses{ false };

private:
    const int64_t d_first;
    std::vector<cfloat> d_noise = std::vector<cfloat>(1 << 20);
};

class counting_sink : public gr::sync_block
{
public:
    counting_sink()
        : gr::sync_block("counting_sink",
                         gr::io_signature::make(1, 1, sizeof(cfloat)),
                         gr::io_signature::make(0, 0, 0))
    {
    }

    int work(int items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        count += items;
        return items;
    }

    std::atomic<int64_t> count{ 0 };
};

struct flowgraph {
    explicit flowgraph(int search_samples)
    {
        stream_align::parameters p;
        p.inputs = 2;
        p.search_samples = search_samples;
        p.most_offset = search_samples / 2;
        p.interval = p.watch = 0.02;
        block = stream_align::make(p);
        for (int port = 0; port < 2; port++) {
            receivers.push_back(gnuradio::make_block_sptr<receiver>(123 * port));
            sinks.push_back(gnuradio::make_block_sptr<counting_sink>());
            top->connect(receivers[port], 0, block, port);
            top->connect(block, port, sinks[port], 0);
        }
    }

    void wait_for(const std::function<bool()>& condition)
    {
        const auto until = std::chrono::steady_clock::now() + 10min;
        while (!condition() && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(1ms);
        CPPUNIT_ASSERT(condition());
    }

    void stop()
    {
        top->stop();
        top->wait();
    }

    gr::top_block_sptr top = gr::make_top_block("receivers");
    stream_align::sptr block;
    std::vector<std::shared_ptr<receiver>> receivers;
    std::vector<std::shared_ptr<counting_sink>> sinks;
};

} // namespace

//! Tests the threads of stream_align: its work, a search, messages and setters.
class qa_stream_align : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_stream_align);
    CPPUNIT_TEST(settings_while_it_runs);
    CPPUNIT_TEST(stops_anywhere);
    CPPUNIT_TEST(stalls);
    CPPUNIT_TEST_SUITE_END();

public:
    void settings_while_it_runs()
    {
        flowgraph f(1 << 14);
        f.top->start();
        const auto command =
            pmt::dict_add(pmt::make_dict(), pmt::mp("command"), pmt::mp("measure"));
        for (int i = 0; f.block->measurements() < 10 && i < 10000; i++) {
            f.block->measure();
            f.block->set_interval(0.01 * (i % 3));
            f.block->set_watch(0.01);
            f.block->set_unaligned(i % 2);
            f.block->set_status_interval(1e-3);
            f.block->_post(pmt::mp("command"), command);
            f.block->_post(pmt::mp("command"), pmt::PMT_NIL);
            f.block->phases();
            f.block->snr();
            f.block->zeros();
            f.block->searching();
            std::this_thread::sleep_for(1ms);
        }
        f.wait_for([&]() -> bool { return f.block->aligned()[1]; });
        f.stop();
        CPPUNIT_ASSERT_DOUBLES_EQUAL(123, std::abs(f.block->offsets()[1]), 0.01);
    }

    //! Stops while samples are gathered, while they are searched, and after that.
    void stops_anywhere()
    {
        flowgraph f(1 << 17);
        for (int round = 0; round < 6; round++) {
            f.top->start();
            if (round % 3 == 1)
                f.wait_for([&] { return f.block->searching(); });
            else if (round % 3 == 2)
                f.wait_for([&] { return f.block->measurements() > 0; });
            f.stop();
            CPPUNIT_ASSERT(!f.block->searching());
        }
    }

    void stalls()
    {
        flowgraph f(1 << 14);
        f.receivers[1]->pauses = true;
        f.top->start();
        std::this_thread::sleep_for(700ms); // reminders come meanwhile
        CPPUNIT_ASSERT_EQUAL(int64_t(0), f.sinks[0]->count.load());
        f.receivers[1]->pauses = false;
        f.wait_for([&] { return f.sinks[0]->count > 100000; });
        f.receivers[0]->pauses = true;
        std::this_thread::sleep_for(100ms);
        f.stop();
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_stream_align);
