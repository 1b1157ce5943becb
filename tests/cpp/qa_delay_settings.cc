/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/delay_settings.h"
#include <gnuradio/aperture/tags.h>
#include <cppunit/extensions/HelperMacros.h>
#include <cmath>
#include <map>
#include <random>
#include <vector>

using namespace gr::aperture;

namespace {

constexpr long double two_pi = 6.283185307179586476925286766559L;
constexpr int64_t step = 64;

//! A model as it was given, with its time in spectra behind spectrum 0, exactly.
struct given {
    delay_model model;
    long double from;
};

} // namespace

/*!
 * Compares the delays that the kernel gets with the sum of the models in extended
 * precision: the whole response, as it goes on by itself between two updates.
 */
class qa_delay_settings : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_delay_settings);
    CPPUNIT_TEST(hours);
    CPPUNIT_TEST(long_ago);
    CPPUNIT_TEST(half_a_sample);
    CPPUNIT_TEST(nothing_to_do);
    CPPUNIT_TEST(cuts_do_not_matter);
    CPPUNIT_TEST(random_models);
    CPPUNIT_TEST(directions);
    CPPUNIT_TEST(what_is_told);
    CPPUNIT_TEST_SUITE_END();

    //! A power of two of spectra a second: their times are exact.
    static constexpr double rate = 16384;
    static constexpr item_clock clock{ { 1700000000, 0.25 }, rate };
    static constexpr int64_t most = 1000000;

    //! The delays that a kernel has got, and since which spectrum.
    struct told {
        std::vector<kernels::delay> delays;
        bool any = false;
        int64_t since = 0;
        int times = 0;
        //! settings that have come into force, and at which spectrum
        std::vector<std::pair<int64_t, pmt::pmt_t>> news;
    };

    static delay_settings make(int inputs = 1)
    {
        return delay_settings({ inputs, 1, step, step, 0, false });
    }

    static int64_t update(delay_settings& s, int64_t spectrum, told& t, int64_t left = 0)
    {
        return s.update(
            spectrum,
            clock,
            most,
            left,
            { [](int64_t) {},
              [](const std::string& what) { CPPUNIT_FAIL(what); },
              [&](const delay_settings::change& c) {
                  t.delays = c.delays;
                  t.any = c.any;
                  t.since = spectrum;
                  t.times++;
              },
              [&](const pmt::pmt_t& news) { t.news.emplace_back(spectrum, news); } });
    }

    //! Returns the delay in samples and the phase in cycles of spectrum m.
    static std::pair<long double, long double> wanted(const std::vector<given>& models,
                                                      int64_t m)
    {
        long double delay = 0, turns = 0;
        for (const auto& g : models) {
            const long double t = ((long double)m - g.from) / rate;
            delay += (g.model.delay + g.model.delay_rate * t) * rate * step;
            const long double phase = g.model.phase / two_pi;
            const long double gone = g.model.phase_rate / two_pi * t;
            turns += phase - std::round(phase) + gone - std::round(gone);
        }
        return { delay, turns };
    }

    //! Compares the delays of input 0 at spectrum m with the models.
    static void check(const told& t,
                      const std::vector<given>& models,
                      int64_t m,
                      double samples = 1e-7,
                      double turns = 1e-7,
                      double reach = 0.5)
    {
        const auto now = t.delays[0].after(double(m - t.since));
        const auto [delay, phase] = wanted(models, m);
        CPPUNIT_ASSERT(std::abs(now.fraction) <= reach + 1e-6);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(
            double(delay), double(now.samples) + now.fraction, samples);
        const long double apart = now.phase / two_pi - phase;
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0, double(apart - std::round(apart)), turns);
    }

public:
    //! A day at a fringe rate of 30 Hz: nothing grows.
    void hours()
    {
        auto s = make();
        const delay_model m{ 1e-6, 1e-9, 1.5, 188.495559 };
        s.set({ "", -1, clock.start },
              { m.delay },
              { m.delay_rate },
              { m.phase },
              { m.phase_rate });
        told t;
        const int64_t day = int64_t(86400 * rate);
        for (int64_t spectrum = 0; spectrum < day;) {
            const int64_t same = update(s, spectrum, t);
            CPPUNIT_ASSERT(same > 0 && same <= delay_settings::spectra_together);
            check(t, { { m, 0 } }, spectrum);
            check(t, { { m, 0 } }, spectrum + same - 1);
            spectrum += same;
        }
        CPPUNIT_ASSERT(t.times >= day / delay_settings::spectra_together);
    }

    //! A model whose time lies years back has as many digits.
    void long_ago()
    {
        auto s = make();
        const int64_t years = 100000000; // seconds
        const delay_model m{ -1e-3, 1e-11, -2.5, 1234.5678901 };
        timestamp then = clock.start;
        then.seconds -= years;
        s.set({ "", 0, then },
              { m.delay },
              { m.delay_rate },
              { m.phase },
              { m.phase_rate });
        told t;
        s.update(0,
                 clock,
                 most,
                 0,
                 { [](int64_t) {},
                   {},
                   [&](const delay_settings::change& c) {
                       t.delays = c.delays;
                       t.any = c.any;
                       t.times = 1;
                   },
                   [](const pmt::pmt_t&) {} });
        // the rate in cycles has 64 bits of mantissa here: 2e2 cycles/s * 1e8 s * 2^-64
        check(t, { { m, -(long double)years * rate } }, 0, 1e-7, 1e-8);
    }

    //! The whole samples change where the rest reaches half of one, not before.
    void half_a_sample()
    {
        for (const double sign : { 1., -1. }) {
            auto s = make();
            // 0.003 samples a spectrum
            const delay_model m{ 0, sign * 0.003 / step, 0, 0 };
            s.set({ "", 0, clock.start }, { 0 }, { m.delay_rate }, {}, {});
            told t;
            int64_t spectrum = 0;
            for (int changes = 0; changes < 1000; changes++) {
                const int64_t same = update(s, spectrum, t);
                check(t, { { m, 0 } }, spectrum, 1e-7, 1e-7);
                check(t, { { m, 0 } }, spectrum + same - 1, 1e-7, 1e-7);
                if ((spectrum + same) % delay_settings::spectra_together)
                    CPPUNIT_ASSERT(std::abs(t.delays[0].after(double(same)).fraction) >
                                   0.4999);
                spectrum += same;
            }
            CPPUNIT_ASSERT(std::abs(t.delays[0].samples) > 950);
        }
    }

    //! Without rates the kernel gets delays once, and without delays that there are none.
    void nothing_to_do()
    {
        auto s = make(2);
        told t;
        CPPUNIT_ASSERT(update(s, 0, t) > int64_t(1) << 60);
        CPPUNIT_ASSERT(!t.any);
        s.set({ "a", -1, {} }, { 1e-6, 2e-6 }, {}, {}, {});
        CPPUNIT_ASSERT(update(s, 10, t) > int64_t(1) << 60);
        CPPUNIT_ASSERT(t.any);
        for (int64_t m = 11; m < 1000000; m += 12345)
            update(s, m, t);
        CPPUNIT_ASSERT_EQUAL(2, t.times);
        s.set({ "b", -1, {} }, { -1e-6, -2e-6 }, {}, {}, {});
        update(s, 1000000, t);
        CPPUNIT_ASSERT(!t.any);
    }

    //! The delays depend on the index of the spectrum only.
    void cuts_do_not_matter()
    {
        std::mt19937 random(3);
        std::vector<std::map<int64_t, kernels::delay>> all(2);
        for (auto& changes : all) {
            auto s = make();
            s.set({ "", 0, clock.start }, { 1e-6 }, { 1e-5 }, { 1 }, { 3 });
            s.set({ "b", 0, clock.start.after(100000, rate) },
                  { 1e-6 },
                  { -3e-5 },
                  { 1 },
                  {});
            told t;
            for (int64_t spectrum = 0; spectrum < 400000;) {
                const int64_t same = update(s, spectrum, t);
                if (t.since == spectrum)
                    changes[spectrum] = t.delays[0];
                const bool cut = &changes == &all[1];
                spectrum += cut ? std::min<int64_t>(same, 1 + random() % 3000) : same;
            }
        }
        CPPUNIT_ASSERT_EQUAL(all[0].size(), all[1].size());
        for (const auto& [spectrum, d] : all[0]) {
            const auto& other = all[1].at(spectrum);
            CPPUNIT_ASSERT_EQUAL(d.samples, other.samples);
            CPPUNIT_ASSERT(d.fraction == other.fraction && d.phase == other.phase &&
                           d.fraction_rate == other.fraction_rate &&
                           d.phase_rate == other.phase_rate);
        }
    }

    //! Several models, each replaced from time to time, and tags.
    void random_models()
    {
        std::mt19937_64 random(11);
        const auto uniform = [&](double most) {
            return std::uniform_real_distribution<>(-most, most)(random);
        };
        for (int trial = 0; trial < 20; trial++) {
            auto s = make();
            std::map<std::string, std::map<int64_t, given>> of; // by first spectrum
            for (int i = 0; i < 40; i++) {
                const std::string name(1, char('a' + random() % 3));
                const delay_model m{
                    uniform(1e-4), uniform(1e-6), uniform(1e4), uniform(1e3)
                };
                const int64_t at = int64_t(random() % 200000);
                // an eighth of a spectrum before: exact, and from the next spectrum on
                const double from = double(at) - 0.125;
                of[name][at] = { m, from };
                s.set({ name, 0, clock.start.after(from, rate) },
                      { m.delay },
                      { m.delay_rate },
                      { m.phase },
                      { m.phase_rate });
            }
            for (int i = 0; i < 10; i++) {
                const int64_t tick = int64_t(random() % (200000 * step));
                const delay_model m{ uniform(1e-4), uniform(1e-6), uniform(4), 0 };
                s.read_tag(0, tick, tags::delay, pmt::init_f64vector(1, { m.delay }));
                s.read_tag(
                    0, tick, tags::delay_rate, pmt::init_f64vector(1, { m.delay_rate }));
                s.read_tag(0, tick, tags::phase, pmt::init_f64vector(1, { m.phase }));
                of["tags"][(tick + step - 1) / step] = { m, (long double)tick / step };
            }
            told t;
            int64_t checked = 0;
            for (int64_t spectrum = 0; spectrum < 210000;) {
                const int64_t same =
                    std::min<int64_t>(update(s, spectrum, t), 1 + random() % 5000);
                for (const int64_t m : { spectrum, spectrum + same - 1 }) {
                    std::vector<given> now;
                    for (const auto& [name, settings] : of)
                        if (auto next = settings.upper_bound(m); next != settings.begin())
                            now.push_back(std::prev(next)->second);
                    if (t.any)
                        check(t, now, m);
                    checked += t.any;
                }
                spectrum += same;
            }
            CPPUNIT_ASSERT(checked > 100);
        }
    }

    //! A model of another direction waits for the next frame, and is told once; those
    //! that follow of the same direction do not wait.
    void directions()
    {
        constexpr int64_t length = 100; // spectra of a frame
        auto s = make(2);
        const auto place = [](const char* name) {
            return pmt::dict_add(
                pmt::make_dict(), pmt::intern("name"), pmt::intern(name));
        };
        const auto at = [](int64_t spectrum) {
            return clock.start.after(double(spectrum), clock.rate);
        };
        const auto one = place("one"), other = place("other");
        s.set({ "g", -1, at(0), one }, { 1e-5 }, { 1e-9 }, {}, {});
        s.set({ "g", -1, at(130), one }, { 2e-5 }, { 1e-9 }, {}, {});
        s.set({ "g", -1, at(270), other }, { 3e-5 }, { 1e-9 }, {}, {});
        s.set({ "g", -1, at(290), other }, { 4e-5 }, { 1e-9 }, {}, {});
        s.set({ "g", -1, at(350), other }, { 5e-5 }, { 1e-9 }, {}, {});
        told t;
        std::map<int64_t, double> delays; // spectrum -> samples
        for (int64_t spectrum = 0; spectrum < 400;) {
            const int64_t left = (length - spectrum % length) % length;
            const int64_t same = update(s, spectrum, t, left);
            CPPUNIT_ASSERT(same > 0);
            if (t.since == spectrum)
                delays[spectrum] = double(t.delays[1].samples) + t.delays[1].fraction;
            spectrum += std::min<int64_t>(same, 400 - spectrum);
        }
        const double samples = rate * step;
        const std::map<int64_t, double> wanted = {
            { 0, 1e-5 }, { 130, 2e-5 }, { 300, 4e-5 }, { 350, 5e-5 }
        };
        CPPUNIT_ASSERT_EQUAL(wanted.size(), delays.size());
        for (const auto& [spectrum, delay] : wanted)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(delay * samples, delays.at(spectrum), 1e-3);
        CPPUNIT_ASSERT_EQUAL(size_t(2), t.news.size());
        CPPUNIT_ASSERT_EQUAL(int64_t(300), t.news[1].first);
        const auto value = [&](const char* key) {
            return pmt::dict_ref(t.news[1].second, pmt::intern(key), pmt::PMT_NIL);
        };
        CPPUNIT_ASSERT(pmt::equal(other, value(tags::direction)));
        CPPUNIT_ASSERT(pmt::equal(pmt::intern("direction"), value(tags::setting)));
        CPPUNIT_ASSERT(pmt::equal(at(300).to_pmt(), value(tags::time)));
    }

    //! Other models are told where they have no rates, each anew after another start.
    void what_is_told()
    {
        auto s = make(2);
        told t;
        update(s, 0, t);
        s.set({ "", 1, {} }, { 1e-5 }, {}, { 0.5 }, {});
        s.set({ "moves", -1, {} }, { 1e-5 }, { 1e-9 }, {}, {});
        update(s, 7, t);
        update(s, 8, t);
        CPPUNIT_ASSERT_EQUAL(size_t(1), t.news.size());
        const auto& [spectrum, news] = t.news[0];
        CPPUNIT_ASSERT_EQUAL(int64_t(7), spectrum);
        const auto value = [](const pmt::pmt_t& dict, const char* key) {
            return pmt::dict_ref(dict, pmt::intern(key), pmt::PMT_NIL);
        };
        CPPUNIT_ASSERT(pmt::equal(pmt::intern("delays"), value(news, tags::setting)));
        CPPUNIT_ASSERT(pmt::equal(pmt::from_long(1), value(news, tags::input)));
        CPPUNIT_ASSERT(
            pmt::equal(pmt::init_f64vector(1, { 1e-5 }), value(news, tags::delay)));
        CPPUNIT_ASSERT(
            pmt::equal(pmt::init_f64vector(1, { 0.5 }), value(news, tags::phase)));
        s.start();
        update(s, 0, t);
        CPPUNIT_ASSERT_EQUAL(size_t(2), t.news.size());
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_delay_settings);
