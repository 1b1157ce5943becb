/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/gain_settings.h"
#include "control/timed_beam_settings.h"
#include <gnuradio/aperture/tags.h>
#include <cppunit/extensions/HelperMacros.h>
#include <random>

using namespace gr::aperture;

namespace {

int64_t comparisons = 0, looks = 0;

struct counted_order {
    bool operator()(const timestamp& a, const timestamp& b) const
    {
        comparisons++;
        return earlier()(a, b);
    }
};

//! An item_clock that counts its calls.
struct counted_clock {
    item_clock clock;
    double rate = clock.rate;
    int64_t first_at(const timestamp& time, double tolerance) const
    {
        looks++;
        return clock.first_at(time, tolerance);
    }
};

constexpr item_clock items{ { 1700000000, 0.25 }, 1000 };

timestamp at_item(int64_t item) { return items.start.after(double(item), items.rate); }

pmt::pmt_t gain_at(double gain, const timestamp& time)
{
    pmt::pmt_t m =
        pmt::dict_add(pmt::make_dict(), pmt::intern(tags::gain), pmt::from_double(gain));
    return pmt::dict_add(m, pmt::intern(tags::time), time.to_pmt());
}

} // namespace

//! Tests the order of settings with a time, the cost of a call, and their limit.
class qa_timed_settings : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_timed_settings);
    CPPUNIT_TEST(order);
    CPPUNIT_TEST(cost);
    CPPUNIT_TEST(limit_of_gains);
    CPPUNIT_TEST(limit_of_weights);
    CPPUNIT_TEST(bytes_of_gains);
    CPPUNIT_TEST(bytes_of_weights);
    CPPUNIT_TEST_SUITE_END();

    //! Compares with a list that is searched from end to end, for times that often agree.
    void order()
    {
        std::mt19937 random(7);
        timed_settings<int> settings;
        std::vector<std::pair<int64_t, int>> model; // item, setting, as they came
        int added = 0;
        for (int64_t item = 0; item < 3000; item++) {
            for (int i = random() % 4; i > 0; i--) {
                const int64_t at = item - 5 + int64_t(random() % 50);
                model.emplace_back(at, added);
                settings.add(at_item(at), added++, 0);
            }
            if (random() % 5 == 0 && !model.empty()) {
                const auto gone = model.begin() + random() % model.size();
                settings.remove(at_item(gone->first), gone->second);
                settings.remove(at_item(gone->first), gone->second); // is not there
                model.erase(gone);
            }
            std::stable_sort(model.begin(), model.end(), [](auto& a, auto& b) {
                return a.first < b.first;
            });
            std::vector<int> first, expected, due;
            for (const auto& [at, setting] : model)
                if (at == model[0].first)
                    first.push_back(setting);
            CPPUNIT_ASSERT(settings.earliest() == first);
            std::vector<int64_t> late, expected_late;
            while (!model.empty() && model[0].first <= item) {
                expected.push_back(model[0].second);
                // before the first item nothing has been made without it
                if (model[0].first < item && item > 0)
                    expected_late.push_back(item - model[0].first);
                model.erase(model.begin());
            }
            const int64_t sharing = settings.take_due(
                item,
                items,
                1e-3,
                [&](int64_t by) { late.push_back(by); },
                [&](int setting) { due.push_back(setting); });
            CPPUNIT_ASSERT(due == expected);
            CPPUNIT_ASSERT(late == expected_late);
            CPPUNIT_ASSERT_EQUAL(model.empty() ? std::numeric_limits<int64_t>::max()
                                               : model[0].first - item,
                                 sharing);
            CPPUNIT_ASSERT_EQUAL(model.size(), settings.size());
        }
    }

    //! With 20000 settings in the far future, a call examines one of them and compares
    //! none; each has cost 2 log2(n) comparisons at most (a red-black tree's height).
    void cost()
    {
        timed_settings<int, counted_order> settings;
        std::mt19937 random(8);
        comparisons = 0;
        for (int i = 0; i < 20000; i++)
            settings.add(at_item(10000000 + random() % 1000000), i, 0);
        CPPUNIT_ASSERT(comparisons < 20000 * 2 * std::log2(20001));
        comparisons = looks = 0;
        for (int64_t item = 0; item < 1000; item++)
            settings.take_due(
                item,
                counted_clock{ items },
                1e-3,
                [](int64_t) { CPPUNIT_FAIL("late"); },
                [](int) { CPPUNIT_FAIL("due"); });
        CPPUNIT_ASSERT_EQUAL(int64_t(1000), looks);
        CPPUNIT_ASSERT_EQUAL(int64_t(0), comparisons);
    }

    //! One more than may wait is refused; all others hold when they are due.
    void limit_of_gains()
    {
        gain_settings gains(1, 1, 1.0);
        for (size_t i = 0; i < most_timed_settings; i++)
            gains.receive(gain_at(2. + i, at_item(int64_t(i) * 7919 % 65536)));
        CPPUNIT_ASSERT_THROW_MESSAGE("one too many",
                                     gains.receive(gain_at(-1, at_item(5))),
                                     std::invalid_argument);
        try {
            gains.receive(gain_at(-1, at_item(5)));
        } catch (const std::invalid_argument& e) {
            CPPUNIT_ASSERT_EQUAL(
                std::string("time: 65536 settings wait for theirs, and no more may"),
                std::string(e.what()));
        }
        std::vector<float> held(65536);
        for (int64_t item = 0; item < 65536; item++)
            CPPUNIT_ASSERT_EQUAL(item < 65535 ? int64_t(1)
                                              : std::numeric_limits<int64_t>::max(),
                                 gains.update(
                                     item,
                                     items,
                                     [](int64_t) { CPPUNIT_FAIL("late"); },
                                     [&](const cfloat* g) { held[item] = g->real(); },
                                     [](const pmt::pmt_t&) {}));
        for (size_t i = 0; i < most_timed_settings; i++)
            CPPUNIT_ASSERT_EQUAL(2.f + i, held[i * 7919 % 65536]);
        gains.receive(gain_at(1, at_item(70000)));
    }

    //! The same limit for beams: a refused setting does not come in by another way.
    void limit_of_weights()
    {
        timed_beam_settings weights(
            { 1, 1, 8, 1, 0 },
            {},
            { [](const cfloat*) { return std::make_shared<kernels::prepared_weights>(); },
              {} });
        for (size_t i = 0; i < most_timed_settings; i++)
            weights.receive(gain_at(2. + i, at_item(i + 1)));
        CPPUNIT_ASSERT_THROW(weights.receive(gain_at(-1, at_item(0))),
                             std::invalid_argument);
        CPPUNIT_ASSERT(weights.take_refused(true).empty());
        std::vector<float> held;
        for (int64_t item : { 0, 1, 2, 60000, 65536 }) {
            weights.update(
                item,
                items,
                [](int64_t) {},
                [&](const timed_beam_settings::changes& c) {
                    if (c.gains)
                        held.push_back(*c.gains);
                });
        }
        CPPUNIT_ASSERT(held == std::vector<float>({ 1, 2, 3, 60001, 65537 }));
        weights.receive(gain_at(1, at_item(70000)));
    }

    //! 512 settings of 512 KiB each are 256 MiB; after one has held, there is room.
    void bytes_of_gains()
    {
        constexpr int channels = 65536;
        gain_settings gains(1, channels, 1.0);
        const auto each = pmt::init_c32vector(channels, std::vector<cfloat>(channels, 2));
        const auto message = [&](int64_t item) {
            return pmt::dict_add(
                gain_at(0, at_item(item)), pmt::intern(tags::gain), each);
        };
        for (int64_t item = 1; item <= 512; item++)
            gains.receive(message(item));
        try {
            gains.receive(message(513));
            CPPUNIT_FAIL("one too many");
        } catch (const std::invalid_argument& e) {
            CPPUNIT_ASSERT_EQUAL(
                std::string(
                    "time: settings of 256 MiB wait for theirs, and one of 524288 "
                    "bytes more may not: at most 256 MiB in all"),
                std::string(e.what()));
        }
        gains.update(
            1, items, [](int64_t) {}, [](const cfloat*) {}, [](const pmt::pmt_t&) {});
        gains.receive(message(513));
        CPPUNIT_ASSERT_THROW(gains.receive(message(514)), std::invalid_argument);
    }

    //! The same limit for beams. One setting alone may be larger.
    void bytes_of_weights()
    {
        constexpr int beams = 80, inputs = 65536; // 40 MiB
        timed_beam_settings settings(
            { 1, inputs, 8, beams, 0 },
            {},
            { [](const cfloat*) { return std::make_shared<kernels::prepared_weights>(); },
              {} });
        const auto message = [](int64_t item, size_t numbers) {
            return pmt::dict_add(gain_at(1, at_item(item)),
                                 pmt::intern(tags::weights),
                                 pmt::make_c32vector(numbers, 1));
        };
        const size_t usual = size_t(beams) * inputs;
        settings.receive(message(1, 7 * usual)); // a wrong size, which turns out later
        CPPUNIT_ASSERT_EQUAL(size_t(1), settings.take_refused(true).size());
        for (int64_t item = 1; item <= 6; item++)
            settings.receive(message(item, usual));
        CPPUNIT_ASSERT_THROW(settings.receive(message(7, usual)), std::invalid_argument);
        CPPUNIT_ASSERT(settings.take_refused(true).empty());
        settings.update(
            2, items, [](int64_t) {}, [](const timed_beam_settings::changes&) {});
        settings.receive(message(7, usual));
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_timed_settings);
