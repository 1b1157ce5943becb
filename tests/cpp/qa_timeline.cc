/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/timeline.h"
#include <cppunit/extensions/HelperMacros.h>
#include <set>

using gr::aperture::timeline;

/*!
 * Against a model that knows the tick of each item and looks at each window by itself.
 */
class qa_timeline : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_timeline);
    CPPUNIT_TEST(one_port_without_loss);
    CPPUNIT_TEST(waits_for_what_is_not_there);
    CPPUNIT_TEST(drops_what_lies_before_the_start);
    CPPUNIT_TEST(random_losses);
    CPPUNIT_TEST_SUITE_END();

public:
    void one_port_without_loss()
    {
        timeline t(1, 24, 8);
        t.add_segment(0, 0, 0);
        // floor(N / n) - T + 1 windows
        CPPUNIT_ASSERT_EQUAL(int64_t(10 - 3 + 1), t.next({ 87 }, 1000).windows);
        CPPUNIT_ASSERT_EQUAL(int64_t(5), t.next({ 87 }, 5).windows);
        t.advance(5);
        const auto r = t.next({ 87 }, 1000);
        CPPUNIT_ASSERT_EQUAL(int64_t(3), r.windows);
        CPPUNIT_ASSERT_EQUAL(int64_t(40), r.first_item[0]);
        CPPUNIT_ASSERT_EQUAL(int64_t(40), t.needed_from(0));
    }

    void waits_for_what_is_not_there()
    {
        timeline t(2, 4, 4);
        t.add_segment(0, 0, 0);
        t.add_segment(1, 0, 0);
        CPPUNIT_ASSERT_EQUAL(int64_t(0), t.next({ 100, 3 }, 10).windows);
        CPPUNIT_ASSERT(!t.next_is_missing(1));
        t.add_segment(1, 3, 9); // 6 items were lost after the third
        CPPUNIT_ASSERT(t.next_is_missing(1));
        const auto r = t.next({ 100, 4 }, 10);
        CPPUNIT_ASSERT_EQUAL(int64_t(3), r.windows); // at 0, 4 and 8: the next is at 12
        CPPUNIT_ASSERT_EQUAL(int64_t(0), r.first_item[0]);
        CPPUNIT_ASSERT_EQUAL(int64_t(-1), r.first_item[1]);
        t.advance(3);
        CPPUNIT_ASSERT_EQUAL(int64_t(6), t.next({ 100, 10 }, 10).first_item[1]);
    }

    void drops_what_lies_before_the_start()
    {
        timeline t(2, 1, 1);
        t.add_segment(0, 0, -7);
        t.add_segment(1, 0, 0);
        CPPUNIT_ASSERT_EQUAL(int64_t(7), t.needed_from(0));
        CPPUNIT_ASSERT_EQUAL(int64_t(0), t.needed_from(1));
        CPPUNIT_ASSERT_EQUAL(int64_t(0), t.tick_of(0, 7));
        CPPUNIT_ASSERT_EQUAL(int64_t(3), t.next({ 10, 5 }, 100).windows);
    }

    void random_losses()
    {
        unsigned state = 1;
        auto random = [&](unsigned below) {
            state = state * 1664525u + 1013904223u;
            return int64_t((state >> 8) % below);
        };
        for (int round = 0; round < 300; round++) {
            const int64_t step = 1 + random(5), window = step * (1 + random(4));
            const int items = 200;
            timeline t(2, window, step);
            // model: for each port the tick of every item, in segments
            std::vector<std::vector<int64_t>> tick(2), begins(2);
            for (int port = 0; port < 2; port++) {
                int64_t now = -random(4);
                begins[port].push_back(0);
                t.add_segment(port, 0, now);
                for (int item = 0; item < items; item++, now++) {
                    if (item && random(30) == 0) {
                        // most are losses, some a boundary without, few go back
                        now += random(10) == 0 ? -random(3) : random(25);
                        begins[port].push_back(item);
                        t.add_segment(port, item, now);
                    }
                    tick[port].push_back(now);
                }
            }
            // where time went back, a window can lie in two segments: either will do
            auto held = [&](int port, int64_t at) {
                std::set<int64_t> places;
                for (size_t s = 0; s < begins[port].size(); s++) {
                    const int64_t first = begins[port][s];
                    const int64_t end =
                        s + 1 < begins[port].size() ? begins[port][s + 1] : items;
                    const int64_t item = first + at - tick[port][first];
                    if (item >= first && item + window <= end)
                        places.insert(item);
                }
                return places;
            };
            int64_t at = 0;
            while (true) {
                const auto r = t.next({ items, items }, 1 + random(9));
                if (r.windows == 0)
                    break;
                for (int64_t w = 0; w < r.windows; w++, at += step)
                    for (int port = 0; port < 2; port++) {
                        const auto places = held(port, at);
                        const int64_t got =
                            r.first_item[port] < 0 ? -1 : r.first_item[port] + w * step;
                        CPPUNIT_ASSERT(got < 0 ? places.empty() : places.count(got) == 1);
                    }
                t.advance(r.windows);
                CPPUNIT_ASSERT_EQUAL(at, t.position());
                for (int port = 0; port < 2; port++)
                    if (const auto places = held(port, at); !places.empty())
                        CPPUNIT_ASSERT(t.needed_from(port) <= *places.begin());
            }
            // it stops only where the end of a port is in the way
            bool at_end = false;
            for (int port = 0; port < 2; port++) {
                const int64_t last =
                    tick[port].back() - (items - 1 - begins[port].back());
                at_end = at_end || (at >= last && at + window > tick[port].back() + 1);
            }
            CPPUNIT_ASSERT(at_end);
        }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_timeline);
