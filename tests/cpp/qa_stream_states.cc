/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/said_states.h"
#include "stream/tick_states.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/stream_states.h>
#include <gnuradio/aperture/tags.h>
#include <cppunit/extensions/HelperMacros.h>
#include <array>
#include <cmath>
#include <random>

using gr::aperture::said_states;
using gr::aperture::stream_states;
using gr::aperture::tick_states;
using gr::aperture::timestamp;
namespace tags = gr::aperture::tags;

namespace {

gr::tag_t tag(uint64_t item, const char* key, const pmt::pmt_t& value)
{
    gr::tag_t t;
    t.offset = item;
    t.key = pmt::intern(key);
    t.value = value;
    return t;
}

gr::tag_t time_tag(uint64_t item, int64_t seconds, double fraction)
{
    return tag(item, tags::rx_time, timestamp{ seconds, fraction }.to_pmt());
}

gr::tag_t rate_tag(uint64_t item, double rate)
{
    return tag(item, tags::rx_rate, pmt::from_double(rate));
}

gr::tag_t counted_tag(uint64_t item, const std::vector<uint64_t>& counts)
{
    return tag(item, tags::counted, pmt::init_u64vector(counts.size(), counts));
}

//! The count of an item with one count, or -1.
int64_t count_in(const stream_states::values& states)
{
    const auto found = states.find(tags::counted);
    return found == states.end() ? -1 : int64_t(pmt::u64vector_ref(found->second, 0));
}

//! Whole seconds and the numerator of the rest, of denominator `rate`, of an item at a
//! rate that is a whole number over a power of two; in whole numbers alone.
std::pair<int64_t, long double> exact_time(uint64_t item, uint64_t over, uint64_t under)
{
    const auto cycles = static_cast<unsigned __int128>(item) * under;
    return { int64_t(cycles / over),
             static_cast<long double>(uint64_t(cycles % over)) /
                 static_cast<long double>(over) };
}

} // namespace

class qa_stream_states : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_stream_states);
    CPPUNIT_TEST(states_stay_and_events_do_not);
    CPPUNIT_TEST(windows_of_any_size);
    CPPUNIT_TEST(times_of_a_day);
    CPPUNIT_TEST(changes_of_the_rate);
    CPPUNIT_TEST(guesses_stand_beside_times);
    CPPUNIT_TEST(begins_anew);
    CPPUNIT_TEST(on_ticks);
    CPPUNIT_TEST(said_where_they_change);
    CPPUNIT_TEST(jumps_and_walks_are_said);
    CPPUNIT_TEST_SUITE_END();

public:
    void states_stay_and_events_do_not()
    {
        stream_states states({ "gain" });
        const auto runs = states.take({ tag(6, tags::partial, pmt::PMT_T),
                                        counted_tag(4, { 0 }),
                                        tag(0, tags::spectra, pmt::from_uint64(8)),
                                        counted_tag(0, { 8 }),
                                        counted_tag(7, { 8 }),
                                        tag(2, "gain", pmt::from_double(3)),
                                        tag(6, tags::missing, pmt::from_long(1)),
                                        tag(6, tags::missing, pmt::from_long(2)) },
                                      0,
                                      10);
        const std::vector<std::array<int64_t, 3>> expected = {
            { 0, 2, 8 }, { 2, 4, 8 }, { 4, 6, 0 }, { 6, 7, 0 }, { 7, 10, 8 }
        };
        CPPUNIT_ASSERT_EQUAL(expected.size(), runs.size());
        for (size_t i = 0; i < runs.size(); i++) {
            CPPUNIT_ASSERT_EQUAL(expected[i][0], int64_t(runs[i].first));
            CPPUNIT_ASSERT_EQUAL(expected[i][1], int64_t(runs[i].end));
            CPPUNIT_ASSERT_EQUAL(expected[i][2], count_in(runs[i].states));
            CPPUNIT_ASSERT_EQUAL(size_t(i > 0), runs[i].states.count("gain"));
            CPPUNIT_ASSERT_EQUAL(size_t(i == 3), runs[i].events.count(tags::partial));
            CPPUNIT_ASSERT_EQUAL(size_t(i == 3), runs[i].at(6).count(tags::missing));
        }
        CPPUNIT_ASSERT_EQUAL(size_t(2), runs[3].events.at(tags::missing).size());
        CPPUNIT_ASSERT_EQUAL(2L, pmt::to_long(runs[3].at(6).at(tags::missing)));
    }

    //! Two and more lost items in a row, in windows that part them anywhere.
    void windows_of_any_size()
    {
        std::mt19937 rng(7);
        for (int round = 0; round < 50; round++) {
            const uint64_t items = 200;
            std::vector<int64_t> counts(items);
            std::vector<gr::tag_t> said;
            for (uint64_t i = 0; i < items; i++) {
                counts[i] = i == 0 || rng() % 5 == 0 ? int64_t(rng() % 3) : counts[i - 1];
                if (i == 0 || counts[i] != counts[i - 1])
                    said.push_back(counted_tag(i, { uint64_t(counts[i]) }));
            }
            stream_states states;
            for (uint64_t first = 0; first < items;) {
                const uint64_t end = std::min(items, first + 1 + rng() % 40);
                std::vector<gr::tag_t> there;
                for (const auto& t : said)
                    if (t.offset >= first && t.offset < end)
                        there.push_back(t);
                uint64_t next = first;
                for (const auto& run : states.take(there, first, end)) {
                    CPPUNIT_ASSERT_EQUAL(next, run.first);
                    for (; next < run.end; next++)
                        CPPUNIT_ASSERT_EQUAL(counts[next], count_in(run.at(next)));
                }
                CPPUNIT_ASSERT_EQUAL(end, next);
                first = end;
            }
        }
    }

    //! Between two rx_time a day apart the time is that of exact arithmetic, of rates
    //! that are no whole numbers.
    void times_of_a_day()
    {
        std::mt19937_64 rng(8);
        for (const double rate : { 19531.25, 1953.125 / 7, 3.3, 1e6 / 3, 0.7, 16384. }) {
            int exponent;
            const auto over = uint64_t(std::ldexp(std::frexp(rate, &exponent), 53));
            const uint64_t under = uint64_t(1) << (53 - exponent);
            stream_states states;
            const auto items = uint64_t(86400 * rate);
            const auto runs = states.take(
                { time_tag(0, 1700000000, 0.25), rate_tag(0, rate) }, 0, items);
            CPPUNIT_ASSERT_EQUAL(size_t(1), runs.size());
            for (int i = 0; i < 10000; i++) {
                const uint64_t item = i == 0 ? items - 1 : rng() % items;
                const auto time = runs[0].time(item).value();
                const auto [seconds, rest] = exact_time(item, over, under);
                const long double off =
                    (int64_t(time.first) - 1700000000 - seconds) +
                    (static_cast<long double>(time.second) - 0.25L - rest);
                // the fraction is rounded once or twice: to 1.1e-16 each time
                CPPUNIT_ASSERT_DOUBLES_EQUAL(0., double(off), 3e-16);
                const auto said = timestamp::from_pmt(runs[0].at(item).at(tags::rx_time));
                CPPUNIT_ASSERT_EQUAL(int64_t(time.first), said->seconds);
                CPPUNIT_ASSERT_EQUAL(time.second, said->fraction);
            }
        }
    }

    void changes_of_the_rate()
    {
        stream_states states;
        const auto runs = states.take({ rate_tag(2, 4),
                                        time_tag(4, 100, 0.5),
                                        rate_tag(8, 2),
                                        time_tag(14, 200, 0),
                                        tag(18, tags::rx_time, pmt::from_double(5)) },
                                      0,
                                      20);
        const auto seconds = [&](uint64_t item) {
            for (const auto& run : runs)
                if (item >= run.first && item < run.end)
                    if (const auto time = run.time(item))
                        return double(time->first) + time->second;
            return -1.;
        };
        // not known; at 4 a second; at 2 a second from there on; where the next one says
        const std::vector<std::pair<uint64_t, double>> expected = {
            { 0, -1 },    { 3, -1 },    { 4, 100.5 }, { 7, 101.25 }, { 8, 101.5 },
            { 9, 102.0 }, { 13, 104. }, { 14, 200. }, { 17, 201.5 }, { 18, 202. }
        };
        for (const auto& [item, time] : expected)
            CPPUNIT_ASSERT_EQUAL(time, seconds(item));
        // a value that is no time is for its reader to refuse, on its item alone
        CPPUNIT_ASSERT_EQUAL(5., pmt::to_double(runs.back().at(18).at(tags::rx_time)));
        CPPUNIT_ASSERT(pmt::is_tuple(runs.back().at(19).at(tags::rx_time)));
    }

    void guesses_stand_beside_times()
    {
        stream_states states;
        const auto runs = states.take({ tag(0, tags::approximate, pmt::PMT_T),
                                        time_tag(0, 100, 0),
                                        time_tag(5, 105, 0),
                                        time_tag(7, 107, 0),
                                        tag(7, tags::approximate, pmt::PMT_T) },
                                      0,
                                      10);
        CPPUNIT_ASSERT_EQUAL(size_t(3), runs.size());
        for (size_t i = 0; i < 3; i++)
            CPPUNIT_ASSERT_EQUAL(size_t(i != 1), runs[i].states.count(tags::approximate));
    }

    void begins_anew()
    {
        stream_states states;
        states.take({ counted_tag(3, { 1 }), rate_tag(0, 2) }, 0, 10);
        CPPUNIT_ASSERT_EQUAL(uint64_t(3), states.since(tags::counted).value());
        states.take({ counted_tag(12, { 2 }) }, 10, 20);
        CPPUNIT_ASSERT_EQUAL(uint64_t(3), states.since(tags::counted).value());
        // a flowgraph that starts again
        const auto runs = states.take({}, 0, 10);
        CPPUNIT_ASSERT_EQUAL(size_t(0), runs[0].states.size());
        CPPUNIT_ASSERT(!states.since(tags::counted));
        // a reader that left items out does not know, either
        states.take({ counted_tag(10, { 2 }) }, 10, 20);
        CPPUNIT_ASSERT(states.take({}, 21, 25)[0].states.empty());
    }

    void on_ticks()
    {
        tick_states states;
        states.start(false);
        CPPUNIT_ASSERT(!states.take(3, tag(3, tags::partial, pmt::PMT_T)));
        CPPUNIT_ASSERT(states.take(10, counted_tag(10, { 0 })));
        CPPUNIT_ASSERT(states.take(13, counted_tag(13, { 8 })));
        states.shift(5);
        std::vector<std::array<int64_t, 3>> found;
        const auto see = [&](int64_t first, int64_t end, const stream_states::values& s) {
            found.push_back({ first, end, count_in(s) });
        };
        states.each(2, 16, see);
        states.each(16, 17, see);
        states.each(17, 30, see);
        const std::vector<std::array<int64_t, 3>> expected = {
            { 2, 15, -1 }, { 15, 16, 0 }, { 16, 17, 0 }, { 17, 18, 0 }, { 18, 30, 8 }
        };
        CPPUNIT_ASSERT(expected == found);
        // items that follow after lock() and unlock() are as the last one was
        for (const bool goes_on : { true, false }) {
            found.clear();
            states.start(goes_on);
            states.each(0, 1, see);
            CPPUNIT_ASSERT_EQUAL(int64_t(goes_on ? 8 : -1), found.at(0)[2]);
        }
    }

    //! Integrations of a day, of odd lengths at odd rates: what a reader expects is what
    //! would have been said on each, with some tags a second; a later reader knows all
    //! after a second.
    void said_where_they_change()
    {
        struct stream {
            double rate; // spectra a second
            int spectra; // spectra of an integration
        };
        for (const auto& [rate, spectra] : std::vector<stream>{
                 { 19531.25, 9771 }, { 1e6 / 3, 123451 }, { 9.7, 3 }, { 3.3, 7 } }) {
            int exponent;
            const auto over = uint64_t(std::ldexp(std::frexp(rate, &exponent), 53));
            const uint64_t under = uint64_t(1) << (53 - exponent);
            const double each = rate / spectra; // items a second, as said
            const auto items = uint64_t(86400 * each);
            const timestamp start{ 1700000000, 0.123456789 };
            std::mt19937 rng(9);
            said_states said;
            said.begin(each);
            stream_states states, later;
            uint64_t tags_said = 0, counted = uint64_t(spectra), changes = 0;
            const uint64_t late = 1 + rng() % 1000;
            for (uint64_t item = 0; item < items; item++) {
                // losses, most of several integrations in a row
                const uint64_t before = counted;
                if (rng() % 64 == 0)
                    counted = rng() % 2 ? uint64_t(spectra) : rng() % spectra;
                changes += item > 0 && counted != before;
                const timestamp time =
                    start.after(double(item * uint64_t(spectra)), rate);
                std::vector<gr::tag_t> found;
                if (item == 0)
                    found.push_back(rate_tag(0, each));
                const auto news = said.take(item, time, uint64_t(spectra), { counted });
                if (news.time)
                    found.push_back(time_tag(item, time.seconds, time.fraction));
                if (news.spectra)
                    found.push_back(
                        tag(item, tags::spectra, pmt::from_uint64(uint64_t(spectra))));
                if (news.counted)
                    found.push_back(counted_tag(item, { counted }));
                tags_said += found.size();
                const auto run = states.take(found, item, item + 1).at(0);
                CPPUNIT_ASSERT_EQUAL(int64_t(counted), count_in(run.states));
                const auto known = run.time(item).value();
                const auto [seconds, rest] =
                    exact_time(item * uint64_t(spectra), over, under);
                const long double off =
                    (int64_t(known.first) - start.seconds - seconds) +
                    (static_cast<long double>(known.second) - start.fraction - rest);
                CPPUNIT_ASSERT(std::abs(double(off)) <= said_states::resolution);
                if (item < late)
                    continue;
                const auto also = later.take(found, item, item + 1).at(0);
                if (item - late >= uint64_t(std::ceil(each))) {
                    CPPUNIT_ASSERT_EQUAL(int64_t(counted), count_in(also.states));
                    CPPUNIT_ASSERT_EQUAL(size_t(1), also.states.count(tags::spectra));
                }
            }
            // rx_time, spectra and counted once a second, or on each longer integration
            const double seconds = std::min(86400., double(items));
            CPPUNIT_ASSERT(double(tags_said) <= 3 * seconds + double(changes) + 4);
        }
    }

    void jumps_and_walks_are_said()
    {
        const timestamp start{ 1700000000, 0.5 };
        said_states said;
        said.begin(1000);
        const auto is_said = [&](uint64_t item, double seconds) {
            return said.take(item, start.after(seconds, 1), 8, { 8 }).time;
        };
        CPPUNIT_ASSERT(is_said(0, 0));
        CPPUNIT_ASSERT(!is_said(1, 0.001));
        CPPUNIT_ASSERT(is_said(2, 0.003)); // an item is not there
        CPPUNIT_ASSERT(!is_said(3, 0.004));
        CPPUNIT_ASSERT(is_said(4, 0.005 + 1e-9)); // a clock that is followed
        CPPUNIT_ASSERT(!is_said(5, 0.006 + 1e-9));
        said.say_time(6, start.after(0.02, 1)); // said with another tag
        CPPUNIT_ASSERT(!is_said(7, 0.021));
        said.begin(1000);
        CPPUNIT_ASSERT(is_said(8, 0.022));
        // without a rate nobody can expect a time, nor wait for a second
        said.begin(0);
        for (uint64_t item = 9; item < 12; item++) {
            const auto news = said.take(item, start, 8, { 8 });
            CPPUNIT_ASSERT(news.time && news.spectra && news.counted);
        }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_stream_states);
