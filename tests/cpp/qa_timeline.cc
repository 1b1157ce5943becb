/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/timeline.h"
#include <cppunit/extensions/HelperMacros.h>
#include <algorithm>
#include <limits>
#include <vector>

using gr::aperture::timeline;

/*!
 * Compares the time line with a model that knows the tick of each item and examines each
 * window by itself.
 */
class qa_timeline : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_timeline);
    CPPUNIT_TEST(one_port_without_loss);
    CPPUNIT_TEST(waits_for_what_is_not_there);
    CPPUNIT_TEST(drops_what_lies_before_the_start);
    CPPUNIT_TEST(drops_what_was_there_before);
    CPPUNIT_TEST(closed_for_a_while);
    CPPUNIT_TEST(what_is_known);
    CPPUNIT_TEST(random_segments);
    CPPUNIT_TEST_SUITE_END();

public:
    void one_port_without_loss()
    {
        timeline t(1, 24, 8);
        t.open(0, 0, 0);
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
        t.open(0, 0, 0);
        t.open(1, 0, 0);
        CPPUNIT_ASSERT_EQUAL(int64_t(0), t.next({ 100, 3 }, 10).windows);
        CPPUNIT_ASSERT(!t.next_is_missing(1));
        t.open(1, 3, 9); // 6 items were lost after the third
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
        t.open(0, 0, -7);
        t.open(1, 0, 0);
        CPPUNIT_ASSERT_EQUAL(int64_t(7), t.needed_from(0));
        CPPUNIT_ASSERT_EQUAL(int64_t(0), t.needed_from(1));
        CPPUNIT_ASSERT_EQUAL(int64_t(0), t.tick_of(0, 7));
        CPPUNIT_ASSERT_EQUAL(int64_t(3), t.next({ 10, 5 }, 100).windows);
    }

    void drops_what_was_there_before()
    {
        timeline t(1, 4, 2);
        t.open(0, 0, 0);
        // items 10 and 11 are those at ticks 8 and 9 again
        CPPUNIT_ASSERT_EQUAL(int64_t(2), t.open(0, 10, 8));
        CPPUNIT_ASSERT_EQUAL(int64_t(8), t.tick_of(0, 10));
        CPPUNIT_ASSERT_EQUAL(int64_t(9), t.tick_of(0, 9));
        t.advance(3);
        CPPUNIT_ASSERT_EQUAL(int64_t(6), t.next({ 20 }, 1).first_item[0]);
        t.advance(1); // at 8 only what came again holds a window
        CPPUNIT_ASSERT_EQUAL(int64_t(10), t.needed_from(0));
        CPPUNIT_ASSERT_EQUAL(int64_t(10), t.next({ 20 }, 1).first_item[0]);
        // one item again: windows across it are in pieces
        t.open(0, 21, 18);
        t.advance(4);
        CPPUNIT_ASSERT(t.next_is_missing(0));
        CPPUNIT_ASSERT_EQUAL(int64_t(21), t.needed_from(0));
        // again after some had no place: windows up to there may be missing already
        t.close(0, 31);
        t.pass(0, 30);
        t.open(0, 33, 25);
        t.advance(5); // to 26
        CPPUNIT_ASSERT(t.next_is_missing(0));
        CPPUNIT_ASSERT_EQUAL(int64_t(38), t.needed_from(0));
    }

    void closed_for_a_while()
    {
        timeline t(1, 4, 2);
        t.open(0, 0, 0);
        t.close(0, 9);
        CPPUNIT_ASSERT_EQUAL(int64_t(3), t.next({ 20 }, 100).windows); // 0, 2, 4
        t.advance(3);
        CPPUNIT_ASSERT(t.next_is_missing(0)); // 6 and 8 begin before the end
        CPPUNIT_ASSERT_EQUAL(int64_t(2), t.next({ 20 }, 100).windows);
        CPPUNIT_ASSERT_EQUAL(timeline::none, t.needed_from(0));
        t.pass(0, 20);
        CPPUNIT_ASSERT_EQUAL(int64_t(7), t.next({ 20 }, 100).windows);
        t.advance(7);
        CPPUNIT_ASSERT(!t.next_is_missing(0)); // nobody knows yet
        CPPUNIT_ASSERT_EQUAL(int64_t(0), t.next({ 20 }, 100).windows);
        // items before the tick that was passed are dropped
        CPPUNIT_ASSERT_EQUAL(int64_t(5), t.open(0, 25, 15));
        CPPUNIT_ASSERT_EQUAL(int64_t(30), t.next({ 40 }, 1).first_item[0]);
    }

    //! The tick up to which all of a port is known, whether items have a place or not.
    void what_is_known()
    {
        timeline t(1, 4, 2);
        CPPUNIT_ASSERT(t.known_until(0, 10) < -1000000);
        CPPUNIT_ASSERT_EQUAL(timeline::none, t.next_known(0));
        t.open(0, 0, -3);
        CPPUNIT_ASSERT_EQUAL(int64_t(7), t.known_until(0, 10));
        CPPUNIT_ASSERT_EQUAL(int64_t(4), t.windows_before(7)); // 0, 2, 4, 6
        CPPUNIT_ASSERT_EQUAL(int64_t(3), t.windows_before(6));
        CPPUNIT_ASSERT_EQUAL(int64_t(0), t.windows_before(0));
        t.advance(2);
        CPPUNIT_ASSERT_EQUAL(int64_t(8), t.next_known(0)); // item 7 lies at tick 4
        t.open(0, 10, 20);                                 // 13 were lost
        CPPUNIT_ASSERT_EQUAL(int64_t(21), t.known_until(0, 11));
        t.close(0, 12);
        CPPUNIT_ASSERT_EQUAL(int64_t(22), t.known_until(0, 100));
        CPPUNIT_ASSERT_EQUAL(timeline::none, t.next_known(0));
        t.pass(0, 40);
        CPPUNIT_ASSERT_EQUAL(int64_t(40), t.known_until(0, 100));
        // 15 that were there before: nothing of them lies behind the end of the others
        t.open(0, 60, 25);
        CPPUNIT_ASSERT_EQUAL(int64_t(40), t.known_until(0, 61));
        CPPUNIT_ASSERT_EQUAL(int64_t(41), t.known_until(0, 76));
    }

    /*!
     * Compares with a model that knows the tick of each item, with a buffer that holds
     * little more than a window: whatever the segments, new items fit in, and the end is
     * reached. In half of the rounds ports are read earlier and later than each other, by
     * another reach from call to call.
     */
    void random_segments()
    {
        unsigned state = 1;
        auto random = [&](unsigned below) {
            state = state * 1664525u + 1013904223u;
            return int64_t((state >> 8) % below);
        };
        const int64_t unused = std::numeric_limits<int64_t>::min();
        int64_t windows = 0, readable = 0;
        for (int round = 0; round < 10000; round++) {
            const int ports = 1 + random(3);
            const int64_t hop = 1 + random(5), window = hop * (1 + random(4));
            const int64_t kept = random(2) * random(12);
            const int64_t buffer = window + hop + 2 * kept + random(10), items = 150;
            timeline t(ports, window, hop);
            t.set_kept(kept);
            const bool changes = random(2);
            // model: tick of every item, and the calls of the time line at an item
            std::vector<std::vector<int64_t>> tick(ports), raw(ports);
            std::vector<std::vector<int>> told(ports, std::vector<int>(items));
            for (int port = 0; port < ports; port++) {
                int64_t now = -random(4), least = -1000000, covered = least;
                bool closed = false;
                told[port][0] = 1;
                for (int item = 0; item < items; item++, now++) {
                    if (item && random(20) == 0) {
                        closed = !closed && random(2);
                        if (!closed)
                            now += random(3) == 0 ? -random(60) : random(60);
                        told[port][item] = closed ? 2 : 1;
                    }
                    raw[port].push_back(now);
                    if (told[port][item] == 1) // windows before it may be missing already
                        least = std::max(least, now);
                    const bool used = !closed && now >= least;
                    tick[port].push_back(used ? now : unused);
                    if (used)
                        covered = std::max(covered, now + 1);
                    if (closed)
                        least = std::max({ least, covered, now + 1 });
                }
            }
            std::vector<int64_t> told_to(ports), first(ports), end(ports);
            std::vector<bool> is_closed(ports);
            auto held = [&](int port, int64_t at) -> int64_t {
                const auto& reach = t.reach_of(port);
                const int64_t length = window + reach.before + reach.after;
                // items that were dropped are not there any more
                for (int64_t item = first[port]; item + length <= items; item++) {
                    bool all = true;
                    for (int64_t i = 0; i < length && all; i++)
                        // a boundary within, even without a jump, is in the way
                        all = tick[port][item + i] == at - reach.before + i &&
                              (i == 0 || !told[port][item + i]);
                    if (all)
                        return item;
                }
                return -1;
            };
            bool moved = true;
            int64_t at = 0;
            while (moved) {
                moved = false;
                for (int port = 0; port < ports; port++) {
                    const int64_t before = end[port];
                    end[port] = std::min(first[port] + buffer, items);
                    moved = moved || end[port] > before;
                    for (; told_to[port] < end[port]; told_to[port]++) {
                        const int64_t item = told_to[port];
                        if (is_closed[port])
                            t.pass(port, raw[port][item - 1] + 1);
                        if (told[port][item] == 1)
                            t.open(port, item, raw[port][item]);
                        else if (told[port][item] == 2)
                            t.close(port, item);
                        if (told[port][item])
                            is_closed[port] = told[port][item] == 2;
                    }
                    if (is_closed[port])
                        t.pass(port, raw[port][end[port] - 1] + 1);
                }
                for (int port = 0; port < ports && kept && (at == 0 || changes); port++) {
                    const int64_t most = random(unsigned(2 * kept + 1)) - kept;
                    t.set_reach(port,
                                { most, -most + random(unsigned(kept + most + 1)) });
                }
                const auto r = t.next(end, 1 + random(9));
                for (int64_t w = 0; w < r.windows; w++, at += hop)
                    for (int port = 0; port < ports; port++) {
                        const int64_t found = r.first_item[port] + w * hop;
                        // items that were dropped stay missing, whatever the reach later
                        if (r.first_item[port] >= 0 || !kept || !changes)
                            CPPUNIT_ASSERT_EQUAL(held(port, at),
                                                 r.first_item[port] < 0 ? -1 : found);
                    }
                windows += r.windows;
                for (int port = 0; port < ports; port++)
                    readable += r.first_item[port] >= 0 ? r.windows : 0;
                moved = moved || r.windows > 0;
                t.advance(r.windows);
                CPPUNIT_ASSERT_EQUAL(at, t.position());
                t.release();
                for (int port = 0; port < ports; port++) {
                    const int64_t passed = std::min(t.kept_from(port), end[port]);
                    moved = moved || passed > first[port];
                    first[port] = std::max(first[port], passed);
                }
            }
            // The time line stops only where a port has no more to give.
            bool at_end = false;
            for (int port = 0; port < ports; port++)
                at_end = at_end || end[port] == items;
            CPPUNIT_ASSERT(at_end);
        }
        CPPUNIT_ASSERT(readable > windows / 4); // for 2 ports, and not vacuous
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_timeline);
