/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <gnuradio/aperture/beam_power.h>
#include <gnuradio/aperture/beamformer.h>
#include <gnuradio/aperture/corner_turn.h>
#include <gnuradio/aperture/f_engine.h>
#include <gnuradio/aperture/pfb_channelizer.h>
#include <gnuradio/aperture/power_detector.h>
#include <gnuradio/aperture/select.h>
#include <gnuradio/aperture/xengine.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <cppunit/extensions/HelperMacros.h>
#include <initializer_list>
#include <algorithm>
#include <cmath>
#include <vector>

using namespace gr::aperture;

namespace {

//! A constant on two ports, which is a tone in channel n/2; port 1 has twice as much.
class constant : public gr::sync_block
{
public:
    explicit constant(int64_t samples)
        : gr::sync_block("constant",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(2, 2, sizeof(gr_complex))),
          d_left(samples)
    {
    }

    int work(int noutput_items,
             gr_vector_const_void_star&,
             gr_vector_void_star& output_items) override
    {
        const int n = int(std::min<int64_t>(noutput_items, d_left));
        for (int port = 0; port < 2; port++)
            std::fill_n(
                static_cast<gr_complex*>(output_items[port]), n, gr_complex(1.f + port));
        d_left -= n;
        return n ? n : WORK_DONE;
    }

private:
    int64_t d_left;
};

//! Keeps the last item, as floats.
class last_item : public gr::sync_block
{
public:
    explicit last_item(const gr::basic_block_sptr& writer)
        : gr::sync_block("last_item",
                         gr::io_signature::make(
                             1, 1, writer->output_signature()->sizeof_stream_item(0)),
                         gr::io_signature::make(0, 0, 0)),
          item(writer->output_signature()->sizeof_stream_item(0) / sizeof(float))
    {
    }

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star&) override
    {
        const auto* in = static_cast<const float*>(input_items[0]);
        item.assign(in + (noutput_items - 1) * item.size(),
                    in + noutput_items * item.size());
        return noutput_items;
    }

    std::vector<float> item;
};

} // namespace

/*!
 * Blocks that were made with their default parameters fit together, from a source of
 * fc32, as GNU Radio's are, to visibilities and powers.
 */
class qa_defaults : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_defaults);
    CPPUNIT_TEST(visibilities);
    CPPUNIT_TEST(visibilities_of_f_engine);
    CPPUNIT_TEST(powers);
    CPPUNIT_TEST_SUITE_END();

    static constexpr int channels = 1024;
    static constexpr int64_t samples = channels * (7 + 2 * 256);
    //! Returns the level of a constant, as the default prototype gives it.
    static double tone()
    {
        double sum = 0;
        for (float h : pfb_prototype(channels, 8))
            sum += h;
        return sum;
    }

    //! Runs a source of two ports and blocks behind it; returns the last item.
    static std::vector<float> run(std::initializer_list<gr::basic_block_sptr> chain)
    {
        auto top = gr::make_top_block("defaults");
        auto source = gnuradio::make_block_sptr<constant>(samples);
        gr::basic_block_sptr before = source;
        for (const auto& block : chain) {
            const int ports = std::max(1, block->input_signature()->min_streams());
            for (int port = 0; port < ports; port++)
                top->connect(before, port, block, port);
            before = block;
        }
        auto sink = gnuradio::make_block_sptr<last_item>(before);
        top->connect(before, 0, sink, 0);
        top->run();
        CPPUNIT_ASSERT(sink->nitems_read(0) > 0);
        return sink->item;
    }

    //! Checks [channel] of the product of inputs 1 and 0.
    static void check_product(const std::vector<float>& item)
    {
        CPPUNIT_ASSERT_EQUAL(size_t(2 * channels), item.size());
        for (int channel = 0; channel < channels; channel++) {
            const double expected = channel == channels / 2 ? 2 * tone() * tone() : 0;
            // the filter's -53 dB in the next channels, in power
            CPPUNIT_ASSERT_DOUBLES_EQUAL(
                expected, item[2 * channel], 1e-5 * 2 * tone() * tone());
        }
    }

    void visibilities()
    {
        check_product(run({ pfb_channelizer::make({}),
                            corner_turn::make({}),
                            xengine::make({}),
                            gr::aperture::select::make({}) }));
    }

    void visibilities_of_f_engine()
    {
        check_product(run(
            { f_engine::make({}), xengine::make({}), gr::aperture::select::make({}) }));
    }

    void powers()
    {
        auto former = beamformer::make({});
        auto both = beam_power::make({});
        former->set_weights({ 1, 1 });
        both->set_weights({ 1, 1 });
        const auto detected =
            run({ f_engine::make({}), former, power_detector::make({}) });
        const auto at_once = run({ f_engine::make({}), both });
        CPPUNIT_ASSERT_EQUAL(size_t(channels), detected.size());
        CPPUNIT_ASSERT_EQUAL(size_t(channels), at_once.size());
        const double expected = std::pow(3 * tone(), 2);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(expected, detected[channels / 2], 1e-5 * expected);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(expected, at_once[channels / 2], 1e-5 * expected);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_defaults);
