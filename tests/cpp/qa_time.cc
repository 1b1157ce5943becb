/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/intervals.h"
#include "stream/timestamp.h"
#include <cppunit/extensions/HelperMacros.h>
#include <cmath>
#include <set>

using gr::aperture::intervals;
using gr::aperture::timestamp;

class qa_time : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_time);
    CPPUNIT_TEST(after_keeps_its_precision);
    CPPUNIT_TEST(multiples);
    CPPUNIT_TEST(as_pmt);
    CPPUNIT_TEST(intervals_as_sets);
    CPPUNIT_TEST_SUITE_END();

public:
    void after_keeps_its_precision()
    {
        // a year at 2.4 MHz: the time of a sample is a multiple of 1/2400000 s
        const timestamp start{ 1700000000, 0.25 };
        const int64_t items = int64_t(365) * 86400 * 2400000 + 600001;
        const timestamp t = start.after(double(items), 2.4e6);
        CPPUNIT_ASSERT_EQUAL(int64_t(1700000000 + 365 * 86400), t.seconds);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0.25 + 600001 / 2.4e6, t.fraction, 1e-12);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(365 * 86400. + 600001 / 2.4e6, t.since(start), 1e-8);

        const timestamp before = start.after(-1, 3.);
        CPPUNIT_ASSERT_EQUAL(int64_t(1699999999), before.seconds);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0.25 + 2. / 3, before.fraction, 1e-15);
    }

    void multiples()
    {
        const timestamp t{ 1700000000, 0.25 };
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0.75, t.until_multiple_of(1, 0), 1e-9);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0, t.until_multiple_of(0.25, 0), 1e-9);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(9.75, t.until_multiple_of(10, 0), 1e-9);
        // 1.7e9 s are a multiple of a tenth, but not of the double next to it
        const timestamp whole{ 1700000000, 0 };
        for (const double tenths : { 0.1, 0.2, 0.5, 0.8, 1e-6 })
            CPPUNIT_ASSERT_EQUAL(0., whole.until_multiple_of(tenths, 0));
        CPPUNIT_ASSERT_DOUBLES_EQUAL(
            0.1 - 0.03, (timestamp{ 1700000000, 0.03 }).until_multiple_of(0.1, 0), 1e-15);
        // by hand: 1.7e12 = 7 * 242857142857 + 1, in milliseconds
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0.006, whole.until_multiple_of(0.007, 0), 1e-15);
        // a time that was computed lies a little behind
        const timestamp behind{ 1700000000, 1e-12 };
        CPPUNIT_ASSERT_EQUAL(0., behind.until_multiple_of(0.1, 1e-9));
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0.1, behind.until_multiple_of(0.1, 0), 1e-11);
    }

    void as_pmt()
    {
        const auto t = timestamp::from_pmt(timestamp{ 1700000000, 0.125 }.to_pmt());
        CPPUNIT_ASSERT(t && t->seconds == 1700000000 && t->fraction == 0.125);
        CPPUNIT_ASSERT(!t->is_relative());
        // recordings from before 2000 have their time, too
        CPPUNIT_ASSERT(!(timestamp{ 100000000, 0 }.is_relative()));
        CPPUNIT_ASSERT((timestamp{ 99999999, 0.9 }.is_relative()));
        for (const uint64_t far :
             { uint64_t(253402300800), uint64_t(1) << 60, ~uint64_t(0) })
            CPPUNIT_ASSERT(!timestamp::from_pmt(
                pmt::make_tuple(pmt::from_uint64(far), pmt::from_double(0))));
        CPPUNIT_ASSERT(!timestamp::from_pmt(pmt::from_double(1)));
        CPPUNIT_ASSERT(!timestamp::from_pmt(
            pmt::make_tuple(pmt::from_uint64(1), pmt::from_double(NAN))));
        // before 1970, and behind the end by its fraction
        CPPUNIT_ASSERT(!timestamp::from_pmt(
            pmt::make_tuple(pmt::from_uint64(1), pmt::from_double(-1.5))));
        CPPUNIT_ASSERT(!timestamp::from_pmt(
            pmt::make_tuple(pmt::from_uint64(253402300799), pmt::from_double(1))));
        // durations that are longer than time itself
        CPPUNIT_ASSERT(!t->after(1, 1e-300).is_time());
        CPPUNIT_ASSERT(!t->after(-1, 1e-300).is_time());
        CPPUNIT_ASSERT(timestamp::from_pmt(
                           pmt::make_tuple(pmt::from_uint64(5), pmt::from_double(0.5)))
                           ->is_relative());
    }

    void intervals_as_sets()
    {
        unsigned state = 7;
        auto random = [&](unsigned below) {
            state = state * 1664525u + 1013904223u;
            return int64_t((state >> 8) % below);
        };
        for (int round = 0; round < 200; round++) {
            intervals part[2];
            std::set<int64_t> model[2];
            for (int i = 0; i < 2; i++)
                for (int n = 0; n < 12; n++) {
                    const int64_t first = random(100), end = first + random(12);
                    part[i].add(first, end);
                    for (int64_t k = first; k < end; k++)
                        model[i].insert(k);
                }
            part[0].drop_before(20);
            model[0].erase(model[0].begin(), model[0].lower_bound(20));
            std::set<int64_t> both, inside;
            for (int i = 0; i < 2; i++)
                for (int64_t k : model[i])
                    if (k >= 10 && k < 90)
                        (i ? both : inside).insert(k);
            const auto a = part[0].within(10, 90), b = part[1].within(10, 90);
            CPPUNIT_ASSERT_EQUAL(int64_t(inside.size()), size_of(a));
            both.insert(inside.begin(), inside.end());
            CPPUNIT_ASSERT_EQUAL(int64_t(both.size()), size_of_union(a, b));
            for (size_t i = 1; i < a.size(); i++)
                CPPUNIT_ASSERT(a[i - 1].end < a[i].first);
        }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_time);
