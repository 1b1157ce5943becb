/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The switching of a noise source: a simulated switch acts late, not at all or never
 * again, and no sample with the source in it may pass for one of the antennas'.
 */

#include "signal/alignment/coherence_meter.h"
#include "stream/noise_cycle.h"
#include <cppunit/extensions/HelperMacros.h>
#include <cmath>
#include <random>
#include <vector>

using namespace gr::aperture;
using gr::aperture::kernels::alignment::coherence_meter;

namespace {

constexpr int64_t settle = 100, patience = 2000, length = 300;
const double nothing = std::nan("");

//! A noise source whose switch acts so many ticks after it was told; below 0: never.
struct source {
    int64_t on_after, off_after;
    double sky;
    int64_t on_at = -1, off_at = -1; // ticks from which on it is on, and off
    bool is_on(int64_t tick) const
    {
        return on_at >= 0 && tick >= on_at && (off_at < 0 || tick < off_at);
    }
};

//! The events of a cycle, in ticks; -1: there was none.
struct history {
    int64_t on = -1, off = -1, ended = -1, heard = -1; //!< heard: window of the reference
    int told_on = 0, told_off = 0, silent = 0, stays = 0, answered = 0, again = 0;
    int searches = 0;
    double searched = 0; //!< coherence in the last search
    bool passed = false; //!< a sample with the source passed
};

//! Runs a cycle tick by tick, with a search of `length` ticks and windows of `window`.
history simulate(source& s, int64_t window, int64_t begin, int64_t most = 20000)
{
    noise_cycle cycle;
    cycle.set_lengths(settle, patience);
    history h;
    int64_t searched = -1, gauged = -1;
    auto stage = cycle.now();
    const auto take = [&](const noise_cycle::outcome& o, int64_t tick) {
        if (o.switch_to && *o.switch_to) {
            h.told_on++;
            h.on = tick;
            s.on_at = s.on_after < 0 ? -1 : tick + s.on_after;
            s.off_at = -1;
        } else if (o.switch_to) {
            h.told_off++;
            h.off = tick;
            s.off_at = s.off_after < 0 ? -1 : tick + s.off_after;
        }
        h.silent += o.silent;
        h.stays += o.stays;
        h.answered += o.answered;
        h.again += o.again;
        if (o.ended)
            h.ended = tick;
        if (cycle.now() != stage) {
            stage = cycle.now();
            gauged = searched = -1;
        }
    };
    for (int64_t tick = 0; tick < most && h.ended < 0; tick++) {
        take(cycle.pass(tick), tick);
        if (tick == begin)
            take(cycle.begin(tick, false), tick);
        h.passed = h.passed || (s.is_on(tick) && !cycle.active());
        if (searched < 0 && cycle.wants_search(tick))
            searched = tick;
        if (searched >= 0 && tick - searched + 1 == length) {
            double heard = 0;
            for (int64_t t = searched; t <= tick; t++)
                heard += (s.is_on(t) ? 0.9 : s.sky) / double(length);
            h.searches++;
            h.searched = heard;
            const bool found = heard > 1.5 * s.sky || s.sky > 0.5;
            searched = -1;
            take(cycle.measured(tick + 1, { nothing, found ? heard : nothing }),
                 tick + 1);
            continue;
        }
        if (!cycle.wants_coherence())
            continue;
        gauged = gauged < 0 ? tick : gauged;
        if (tick - gauged + 1 < window)
            continue;
        double coherence = 0;
        for (int64_t t = gauged; t <= tick; t++)
            coherence += (s.is_on(t) ? 0.9 : s.sky) / double(window);
        if (h.heard < 0)
            h.heard = tick + 1;
        gauged = -1;
        take(cycle.gauge(tick + 1, { nothing, coherence }), tick + 1);
    }
    return h;
}

} // namespace

class qa_noise_cycle : public CppUnit::TestCase
{
    CPPUNIT_TEST_SUITE(qa_noise_cycle);
    CPPUNIT_TEST(switches_that_act);
    CPPUNIT_TEST(switches_that_act_late);
    CPPUNIT_TEST(searched_once_more);
    CPPUNIT_TEST(switch_that_is_dead);
    CPPUNIT_TEST(switch_that_sticks);
    CPPUNIT_TEST(source_that_is_always_heard);
    CPPUNIT_TEST(begun_again);
    CPPUNIT_TEST(by_hand);
    CPPUNIT_TEST(coherence);
    CPPUNIT_TEST_SUITE_END();

    //! The end is that of the second window in a row that the source has left, counted
    //! from the moment when it was told to: windows of which it fills more than the
    //! threshold's share do not count.
    void switches_that_act()
    {
        std::mt19937 random(1);
        const auto up_to = [&](int64_t most) { return int64_t(random() % (most + 1)); };
        for (int i = 0; i < 300; i++) {
            const int64_t window = 1 + up_to(60), begin = up_to(50);
            source s{ up_to(settle), up_to(500), 0.001 * double(up_to(300)) };
            const auto h = simulate(s, window, begin);
            CPPUNIT_ASSERT(!h.passed);
            CPPUNIT_ASSERT_EQUAL(1, h.told_on);
            CPPUNIT_ASSERT_EQUAL(1, h.told_off);
            CPPUNIT_ASSERT_EQUAL(0, h.silent + h.stays);
            CPPUNIT_ASSERT_EQUAL(1, h.answered);
            CPPUNIT_ASSERT_EQUAL(begin, h.on);
            CPPUNIT_ASSERT_EQUAL(begin + settle + length + window, h.off);
            // the window in which the source goes: its share of it decides
            const int64_t whole = s.off_after / window, part = s.off_after % window;
            const double share = double(part) / double(window);
            const bool high = 0.9 * share + s.sky * (1 - share) >= 0.7 * 0.9;
            CPPUNIT_ASSERT_EQUAL(h.off + (whole + (high ? 3 : 2)) * window, h.ended);
        }
    }

    //! The last search is among samples of which all have the source, or nearly all.
    void switches_that_act_late()
    {
        std::mt19937 random(3);
        for (int i = 0; i < 300; i++) {
            const int64_t late = settle + 1 + int64_t(random() % (length - 3));
            source s{ late, 40, 0.01 };
            const auto h = simulate(s, 20, 0);
            CPPUNIT_ASSERT(!h.passed);
            CPPUNIT_ASSERT(h.searched > 0.9 * 0.9);
            CPPUNIT_ASSERT_EQUAL(h.searches - 1, h.again);
            CPPUNIT_ASSERT_EQUAL(late - settle > length / 10, h.again == 1);
            CPPUNIT_ASSERT_EQUAL(1, h.answered);
        }
    }

    //! Coherence that differs otherwise is no reason to search for ever.
    void searched_once_more()
    {
        noise_cycle c;
        c.set_lengths(settle, patience);
        c.begin(0, false);
        c.measured(500, { 0.5, nothing });
        CPPUNIT_ASSERT(!c.gauge(550, { 0.52, 0.9 }).again);
        c.begin(1000, false);
        c.measured(1500, { 0.8, 0.5 });
        CPPUNIT_ASSERT(c.gauge(1550, { 0.8, 0.9 }).again);
        CPPUNIT_ASSERT(c.now() == noise_cycle::stage::searching);
        CPPUNIT_ASSERT(!c.wants_search(1550 + settle - 1));
        c.measured(2000, { 0.8, 0.5 });
        CPPUNIT_ASSERT(c.gauge(2050, { 0.8, 0.9 }).switch_to == false);
    }

    void switch_that_is_dead()
    {
        source s{ -1, 0, 0.01 };
        const auto h = simulate(s, 50, 10);
        CPPUNIT_ASSERT_EQUAL(1, h.silent);
        CPPUNIT_ASSERT_EQUAL(0, h.stays + h.answered);
        CPPUNIT_ASSERT_EQUAL(1, h.told_off);
        // the first search that ends after the patience, and then as long as it settles
        const int64_t searches = (patience - settle + length - 1) / length;
        CPPUNIT_ASSERT_EQUAL(10 + settle + searches * length, h.off);
        CPPUNIT_ASSERT_EQUAL(h.off + settle, h.ended);
    }

    void switch_that_sticks()
    {
        source s{ 50, -1, 0.01 };
        const auto h = simulate(s, 50, 0);
        CPPUNIT_ASSERT_EQUAL(1, h.stays);
        CPPUNIT_ASSERT_EQUAL(0, h.answered);
        CPPUNIT_ASSERT_EQUAL(h.off + patience, h.ended);
    }

    //! The coherence does not change: nobody knows whether the switch acts.
    void source_that_is_always_heard()
    {
        source s{ -1, 0, 0.95 };
        const auto h = simulate(s, 50, 0);
        CPPUNIT_ASSERT_EQUAL(1, h.stays);
        CPPUNIT_ASSERT_EQUAL(0, h.silent + h.answered);
        CPPUNIT_ASSERT_EQUAL(h.off + patience, h.ended);
    }

    //! Receivers that are tuned within a cycle are measured anew, at any stage of it.
    void begun_again()
    {
        noise_cycle c;
        c.set_lengths(settle, patience);
        CPPUNIT_ASSERT(c.begin(0, false).switch_to == true);
        CPPUNIT_ASSERT(!c.begin(50, false).switch_to);
        CPPUNIT_ASSERT(!c.wants_search(settle + 49));
        CPPUNIT_ASSERT(c.wants_search(settle + 50));
        c.measured(500, { 0.9 });
        CPPUNIT_ASSERT(!c.begin(510, false).switch_to); // while it is gauged
        c.measured(900, { 0.9 });
        CPPUNIT_ASSERT(c.gauge(950, { 0.9 }).switch_to == false);
        CPPUNIT_ASSERT(c.begin(960, false).switch_to == true); // while it falls
        CPPUNIT_ASSERT(!c.wants_coherence());
        // the coherence that was known is so no more
        CPPUNIT_ASSERT(!c.gauge(970, { 0.0 }).ended);
    }

    void by_hand()
    {
        noise_cycle c;
        c.set_lengths(settle, patience);
        CPPUNIT_ASSERT(!c.end(0).switch_to);
        CPPUNIT_ASSERT(c.begin(0, true).switch_to == true);
        // one warning, and the hand decides
        CPPUNIT_ASSERT(c.measured(patience, { nothing }).silent);
        CPPUNIT_ASSERT(!c.measured(patience + 300, { nothing }).silent);
        c.measured(patience + 600, { 0.9 });
        CPPUNIT_ASSERT(!c.gauge(patience + 650, { 0.9 }).switch_to);
        CPPUNIT_ASSERT(!c.pass(100 * patience).switch_to);
        CPPUNIT_ASSERT(c.now() == noise_cycle::stage::held);
        CPPUNIT_ASSERT(c.end(100 * patience).switch_to == false);
        c.gauge(100 * patience + 50, { 0.1 });
        CPPUNIT_ASSERT(c.gauge(100 * patience + 100, { 0.1 }).ended);
        // switched off before anything was found
        c.begin(0, true);
        c.end(10);
        CPPUNIT_ASSERT(!c.pass(10 + settle - 1).ended);
        CPPUNIT_ASSERT(c.pass(10 + settle).ended);
    }

    //! Against the sums of the definition; a phase that rotates is taken out.
    void coherence()
    {
        std::mt19937 random(2);
        std::normal_distribution<double> normal;
        const int64_t window = 4001;
        const double rate = 0.3;
        std::vector<cfloat> x(window), y(window);
        std::complex<double> product;
        double xx = 0, yy = 0;
        for (int64_t n = 0; n < window; n++) {
            const std::complex<double> common(normal(random), normal(random));
            const std::complex<double> b = common + std::complex(normal(random), 0.0);
            const std::complex<double> a = 3.0 * common;
            product += a * std::conj(b);
            xx += std::norm(a);
            yy += std::norm(b);
            x[n] = cfloat(a * std::polar(1.0, 1.0 - rate * double(n)));
            y[n] = cfloat(b);
        }
        coherence_meter meter;
        meter.begin(3, 1, window);
        for (int64_t done = 0; done < window;) {
            const int64_t count = std::min<int64_t>(1237, meter.room());
            meter.add({ &x[done], &y[done], done ? &y[done] : nullptr },
                      count,
                      { rate + 0.1, 0.1, 0 });
            done += count;
        }
        CPPUNIT_ASSERT_EQUAL(int64_t(0), meter.room());
        const auto found = meter.take();
        // samples are floats, of 24 bits, and their rotation adds up
        CPPUNIT_ASSERT_DOUBLES_EQUAL(
            std::abs(product) / std::sqrt(xx * yy), found[0], 1e-6);
        CPPUNIT_ASSERT(std::isnan(found[1]));
        CPPUNIT_ASSERT(std::isnan(found[2]));
        CPPUNIT_ASSERT_EQUAL(window, meter.room());
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_noise_cycle);
