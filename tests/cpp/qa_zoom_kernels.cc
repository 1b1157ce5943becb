/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/zoom/zoom.h"
#include "runtime/host_stream.h"
#include <cppunit/TestAssert.h>
#include <cppunit/extensions/HelperMacros.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

class qa_zoom_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_zoom_kernels);
    CPPUNIT_TEST(phases_are_exact);
    CPPUNIT_TEST(filters_keep_what_is_promised);
    CPPUNIT_TEST(a_call_goes_on_or_begins_anew);
    CPPUNIT_TEST(no_numbers_are_nowhere_else);
    CPPUNIT_TEST(parameters_are_checked);
    CPPUNIT_TEST_SUITE_END();

    //! Whole numbers of hertz have phases that integers give, however late.
    void phases_are_exact()
    {
        __extension__ typedef __int128 wide;
        for (const int64_t rate : { 1712000000LL, 1000000007LL, 20000000LL })
            for (const int64_t frequency : { 1LL, 12345678LL, -7654321LL, 9999999LL })
                for (const int64_t sample :
                     { int64_t(0), int64_t(1), int64_t(1) << 40, int64_t(1) << 61 }) {
                    const oscillator o{ double(frequency), double(rate) };
                    const auto rest = int64_t(wide(frequency) * sample % rate);
                    const double expected = double(rest) / double(rate);
                    const double off = o.cycles(sample) - expected;
                    CPPUNIT_ASSERT(std::abs(off - std::round(off)) < 3e-16);
                }
        // quarters of the rate are exact, and an opposite frequency has the opposite
        // phase
        const oscillator up(1e6 / 3, 2e6, 1), down(-1e6 / 3, 2e6, -1);
        CPPUNIT_ASSERT_EQUAL(0., up.cycles(7777777) + down.cycles(7777777));
        CPPUNIT_ASSERT_EQUAL(.25, oscillator(0, 2e6, 1).cycles(4000001));
        CPPUNIT_ASSERT_EQUAL(0., oscillator(1e-300, 1e300).cycles(1));
    }

    void filters_keep_what_is_promised()
    {
        for (const double passband : { .1, .6, .8, .95 })
            for (const int decimation :
                 { 2, 3, 4, 6, 12, 15, 16, 17, 31, 54, 78, 96, 1000, 1228, 2048, 4096 }) {
                const auto made = design_zoom_filter(decimation, passband);
                CPPUNIT_ASSERT_EQUAL(decimation, decimation_of(made.stages));
                CPPUNIT_ASSERT(made.ripple < .01);
                CPPUNIT_ASSERT(made.attenuation > 80.5);
                CPPUNIT_ASSERT(made.stages.size() <= 3);
            }
        CPPUNIT_ASSERT_EQUAL(size_t(2), design_zoom_filter(64, .8).stages.size());
    }

    static zoom::parameters some(int decimation)
    {
        return { 1,
                 3,
                 sample_type::fc32,
                 sample_type::fc32,
                 false,
                 design_zoom_filter(decimation, .8).stages };
    }
    std::vector<cfloat> noise(const zoom::parameters& p, int64_t count)
    {
        std::vector<cfloat> x(p.span(count) * p.inputs());
        for (auto& v : x)
            v = { d_normal(d_random), d_normal(d_random) };
        return x;
    }
    //! Runs calls of so many results, each of which may go on where the one before ended.
    std::vector<cfloat> run(const zoom::parameters& p,
                            const std::vector<cfloat>& x,
                            const std::vector<int>& calls,
                            bool follows,
                            std::vector<spectrum_of_input>* found = nullptr)
    {
        const auto kernel = zoom::make(p, device::select("cpu"));
        host_stream s;
        kernel->set_oscillator({ 1e5 / 7, 1e6 }, s);
        kernel->clear_not_numbers(found);
        std::vector<cfloat> y;
        int64_t done = 0;
        for (const int count : calls) {
            y.resize((done + count) * p.inputs(), cfloat(1e30f, 1e30f));
            const zoom::source from{ x.data() + done * p.hop() * p.inputs(),
                                     0,
                                     follows && done > 0 };
            void* to = y.data() + done * p.inputs();
            kernel->execute(&from, &to, done, count, s);
            done += count;
        }
        return y;
    }

    void a_call_goes_on_or_begins_anew()
    {
        for (const int decimation : { 2, 5, 48, 256 }) {
            const auto p = some(decimation);
            const auto x = noise(p, 100);
            const auto expected = run(p, x, { 100 }, false);
            for (const bool follows : { false, true })
                for (const auto& calls : { std::vector<int>{ 1, 2, 97 },
                                           std::vector<int>(100, 1),
                                           std::vector<int>{ 63, 37 } }) {
                    const auto found = run(p, x, calls, follows);
                    CPPUNIT_ASSERT_EQUAL(expected.size(), found.size());
                    CPPUNIT_ASSERT(std::memcmp(expected.data(),
                                               found.data(),
                                               found.size() * sizeof(cfloat)) == 0);
                }
        }
    }

    void no_numbers_are_nowhere_else()
    {
        const auto p = some(6);
        auto x = noise(p, 200);
        const auto expected = run(p, x, { 200 }, false);
        const int64_t sample = 700;
        x[sample * 3 + 1] = { 0, std::numeric_limits<float>::quiet_NaN() };
        const auto is_bad = [&](size_t i) {
            const int64_t first = int64_t(i) / 3 * p.hop();
            return i % 3 == 1 && first <= sample && first + p.span(1) > sample;
        };
        for (const auto& calls : { std::vector<int>{ 200 }, std::vector<int>(200, 1) })
            for (const bool look : { true, false }) {
                std::vector<spectrum_of_input> bad;
                const auto found = run(p, x, calls, true, look ? &bad : nullptr);
                size_t count = 0;
                for (size_t i = 0; i < found.size(); i++) {
                    count += is_bad(i);
                    CPPUNIT_ASSERT(!is_bad(i) ? found[i] == expected[i]
                                   : look     ? found[i] == cfloat(0)
                                              : std::isnan(found[i].real()));
                }
                CPPUNIT_ASSERT(count > 10);
                CPPUNIT_ASSERT_EQUAL(look ? count : 0, bad.size());
            }
    }

    void parameters_are_checked()
    {
        auto p = some(6);
        p.input = sample_type::s10;
        p.inputs_per_port = 1;
        CPPUNIT_ASSERT_THROW(p.check(), std::invalid_argument);
        p.inputs_per_port = 2;
        p.check();
        p.stages[0].taps.pop_back();
        CPPUNIT_ASSERT_THROW(p.check(), std::invalid_argument);
    }

    std::mt19937 d_random{ 17 };
    std::normal_distribution<float> d_normal{ 0, 20 };
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_zoom_kernels);

} // namespace
