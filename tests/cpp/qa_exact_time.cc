/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/exact_time.h"
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <initializer_list>
#include <ctime>
#include <utility>

using namespace gr::aperture::formats;

// All comparisons are of integers, and exact to an attosecond.
class qa_exact_time : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_exact_time);
    CPPUNIT_TEST(calendar);
    CPPUNIT_TEST(fractions_of_utc);
    CPPUNIT_TEST(refused_utc);
    CPPUNIT_TEST(mjd);
    CPPUNIT_TEST(decimals);
    CPPUNIT_TEST(rates);
    CPPUNIT_TEST(durations);
    CPPUNIT_TEST(leap_seconds_between_times);
    CPPUNIT_TEST_SUITE_END();

    static void equal(int64_t seconds, int64_t attoseconds, const exact_time& time)
    {
        CPPUNIT_ASSERT_EQUAL(seconds, time.seconds);
        CPPUNIT_ASSERT_EQUAL(attoseconds, time.attoseconds);
    }

    static void equal(int64_t numerator, int64_t denominator, const ratio& rate)
    {
        CPPUNIT_ASSERT_EQUAL(numerator, rate.numerator);
        CPPUNIT_ASSERT_EQUAL(denominator, rate.denominator);
    }

public:
    // Compares with the C library's calendar, each day of two leap cycles.
    void calendar()
    {
        for (time_t day = 0; day < 140 * 366; ++day) {
            const time_t time = day * 86400 + 12345;
            tm parts;
            gmtime_r(&time, &parts);
            char text[64];
            strftime(text, sizeof(text), "%Y-%m-%d-%H:%M:%S", &parts);
            equal(time, 0, *parse_utc(text));
        }
    }

    void fractions_of_utc()
    {
        equal(1372729060, 0, *parse_utc("2013-07-02-01:37:40"));
        equal(1372729060, 0, *parse_utc("2013-07-02T01:37:40Z"));
        equal(1372729060, 500000000000000000, *parse_utc("2013-07-02 01:37:40.5"));
        equal(1372729060, 1, *parse_utc("2013-07-02-01:37:40.0000000000000000019"));
        // the leap second has the number of the second after it
        equal(1483228800, 0, *parse_utc("2016-12-31-23:59:60"));
    }

    void refused_utc()
    {
        for (const char* text : { "",
                                  "unknown",
                                  "2013-07-02",
                                  "2013-02-29-00:00:00",
                                  "2013-13-01-00:00:00",
                                  "2013-07-02-24:00:00",
                                  "2013-07-02-01:37:40.",
                                  "2013-07-02-01:37:40.x",
                                  "1969-12-31-23:59:59" })
            CPPUNIT_ASSERT_MESSAGE(text, !parse_utc(text));
    }

    void mjd()
    {
        equal(0, 0, *parse_mjd("40587"));
        equal(43200, 0, *parse_mjd("40587.5"));
        // rounded to 28 and to 8 digits: the same second
        equal(1372729060, 0, *parse_mjd("56475.0678240740740740740739736849"));
        equal(1372729060, 0, *parse_mjd("56475.06782407"));
        // 115740740e-20 days, times 86400e18 as: too far from a second to be rounded to
        // it
        equal(1372723200, 99999999360, *parse_mjd("56475.00000000000115740740"));
        for (const char* text : { "", "40586", "56475.x", "5.6e4", "-56475" })
            CPPUNIT_ASSERT_MESSAGE(text, !parse_mjd(text));
    }

    void decimals()
    {
        const auto same = [](const char* text, int64_t mantissa, int exponent) {
            const auto value = decimal::parse(text);
            CPPUNIT_ASSERT_MESSAGE(text, bool(value));
            CPPUNIT_ASSERT_EQUAL(mantissa, value->mantissa);
            CPPUNIT_ASSERT_EQUAL(exponent, value->exponent);
        };
        same("0.0625", 625, -4);
        same("-16", -16, 0);
        same("+320.0000", 32, 1);
        same("1.28e3", 128, 1);
        same("000.000", 0, 0);
        same("0.000416666666666666667", 416666666666666667, -21);
        same("1234567890123456789", 123456789012345678, 1);
        CPPUNIT_ASSERT_EQUAL(0.0625, decimal::parse("0.0625")->to_double());
        CPPUNIT_ASSERT_EQUAL(1400.1, decimal::parse("1400.1")->to_double());
        for (const char* text : { "",
                                  ".",
                                  "-",
                                  "nan",
                                  "inf",
                                  "1e",
                                  "1e+",
                                  "0x10",
                                  "1 2",
                                  "1.2.3",
                                  "1e999",
                                  "1e-999" })
            CPPUNIT_ASSERT_MESSAGE(text, !decimal::parse(text));
    }

    void rates()
    {
        equal(16000000, 1, to_inverse_ratio(*decimal::parse("0.0625"), 1000000));
        equal(80000000, 3, to_inverse_ratio(*decimal::parse("0.0375"), 1000000));
        equal(24000000, 1, to_ratio(*decimal::parse("-24"), 1000000));
        equal(390625, 2, to_ratio(*decimal::parse("0.1953125"), 1000000));
        // terms of more than 18 digits: rounded to a nanohertz, 2400000000.0000000 Hz
        const ratio rounded =
            to_inverse_ratio(*decimal::parse("0.000416666666666666667"), 1000000);
        CPPUNIT_ASSERT_EQUAL(2.4e9, rounded.to_double());
    }

    // The sum is 27 from 1972 to 2016; that of 31 December 2016 ended at 1483228800.
    void leap_seconds_between_times()
    {
        for (const auto& [seconds, count] :
             std::initializer_list<std::pair<int64_t, int>>{ { 0, 0 },
                                                             { 78796799, 0 },
                                                             { 78796800, 1 },
                                                             { 1435708799, 25 },
                                                             { 1435708800, 26 },
                                                             { 1483228799, 26 },
                                                             { 1483228800, 27 },
                                                             { 4000000000, 27 } })
            CPPUNIT_ASSERT_EQUAL(count, leap_seconds(seconds));
        constexpr int64_t half = exact_time::per_second / 2;
        const exact_time before{ 1483228799, half };
        // 23:59:59.5, 23:59:60.5, which has the number of the next second, and that
        equal(1483228799, half, after(before, { 0, 0 }));
        equal(1483228800, half, after(before, { 1, 0 }));
        equal(1483228800, half, after(before, { 2, 0 }));
        equal(1483228801, half, after(before, { 3, 0 }));
        equal(1483228802, half, after({ 1483228800, half }, { 2, 0 }));
        equal(1483228800, 0, after({ 78796799, 0 }, { 1483228800 - 78796799 + 27, 0 }));
    }

    void durations()
    {
        // the example file: 6.4e9 bytes of 4 at 16 MHz
        equal(100, 0, ratio{ 16000000, 1 }.duration(1600000000));
        equal(0, 62500000000, ratio{ 16000000, 1 }.duration(1));
        // thirds are rounded: 3/80 us is 37500000000 as
        equal(0, 37500000000, ratio{ 80000000, 3 }.duration(1));
        equal(0, 333333333333333333, ratio{ 3, 1 }.duration(1));
        equal(0, 666666666666666667, ratio{ 3, 1 }.duration(2));
        // longer than any recording, and all terms large
        equal(9000000000000000,
              0,
              ratio{ 1000000007, 1000000 }.duration(9000000063000000000));
        equal(2,
              0,
              exact_time{ 1, 400000000000000000 } + exact_time{ 0, 600000000000000000 });
        equal(-1,
              900000000000000000,
              exact_time{ 1, 0 } - exact_time{ 1, 100000000000000000 });
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_exact_time);
