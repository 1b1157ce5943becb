/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/pulses/clusters.h"
#include "kernels/pulses/pulse_search.h"
#include "runtime/host_stream.h"
#include <cppunit/extensions/HelperMacros.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

//! Compares the pulse search of the host, and clusters, with slow models.
class qa_pulse_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_pulse_kernels);
    CPPUNIT_TEST(test_widths);
    CPPUNIT_TEST(test_cells);
    CPPUNIT_TEST(test_clusters);
    CPPUNIT_TEST(test_clusters_come_when_they_are_whole);
    CPPUNIT_TEST_SUITE_END();

    void test_widths()
    {
        for (const double growth : { 1.04, 1.1, 1.2, 2. })
            for (const int widest : { 1, 2, 63, 64, 65, 300, 1023, 4096 }) {
                const auto all = boxcars(widest, growth);
                CPPUNIT_ASSERT_EQUAL(1, all.front().width);
                CPPUNIT_ASSERT(all.back().width <= widest &&
                               all.back().width > widest - (1 << all.back().level));
                for (size_t i = 0; i < all.size(); i++) {
                    const auto& b = all[i];
                    CPPUNIT_ASSERT_EQUAL(b.width, b.units << b.level);
                    CPPUNIT_ASSERT(b.units <= 64 && (b.level == 0 || b.units >= 32));
                    if (i > 0)
                        CPPUNIT_ASSERT(b.width > all[i - 1].width &&
                                       (b.width <= growth * all[i - 1].width + 1e-6 ||
                                        b.width == all[i - 1].width + 1));
                }
            }
    }

    //! All cells of a series in double precision: the best S/N of the ends of each item.
    void test_cells()
    {
        const pulse_search::parameters p{
            { 1, 777, { 3 }, {} }, 1e-3, 1e3, 500, 1.2, 5, 1000
        };
        const auto kernel = host::make<pulse_search>(p);
        host_stream s;
        kernel->reset(s);
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        const int items = 60;
        std::vector<float> x(items * 777);
        for (auto& v : x)
            v = 100 + 5 * normal(random);
        for (int i = 30000; i < 30300; i++)
            x[i] += 5;
        for (int i = 40000; i < 40003; i++)
            x[i] += 40;
        std::vector<pulse_search::cell> found;
        for (int i = 0; i < items; i++) {
            kernel->search(x.data() + i * 777, s);
            for (const auto& r : kernel->collect(true))
                for (auto c : r.cells) {
                    c.end += i * 777;
                    found.push_back(c);
                }
        }
        const auto all = boxcars(p.widest, p.growth);
        double best[2] = {};
        for (const auto& c : found) {
            // baseline and rms are known to a percent
            const int width = all[c.boxcar].width;
            double sum = 0;
            for (int i = c.end - width; i < c.end; i++)
                sum += (x[i] - 100) / 5;
            CPPUNIT_ASSERT_DOUBLES_EQUAL(
                sum / std::sqrt(width), c.snr, .3 + .03 * std::abs(c.snr));
            double& of_pulse = best[c.end > 35000];
            of_pulse = std::max(of_pulse, double(c.snr));
        }
        CPPUNIT_ASSERT_DOUBLES_EQUAL(std::sqrt(300), best[0], 2.5);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(8 * std::sqrt(3), best[1], 2.5);
    }

    static clusters::parameters three_beams()
    {
        return { 3, { 5, 1, 4, 2, 3, 0 }, .5, 2, 1, 6, 8, 1e9, 100000 };
    }

    std::vector<clusters::cell> random_cells(int count)
    {
        std::mt19937 random(11);
        std::vector<clusters::cell> cells;
        for (int i = 0; i < count; i++) {
            const double width = 1 << random() % 4;
            cells.push_back({ int(random() % 3),
                              int(random() % 6),
                              double(random() % 4000),
                              width,
                              6 + float(random() % 1000) / 100 });
        }
        return cells;
    }

    //! Friends of friends by trying all pairs.
    void test_clusters()
    {
        const auto p = three_beams();
        const auto cells = random_cells(1500);
        std::vector<int> group(cells.size());
        std::iota(group.begin(), group.end(), 0);
        auto friends = [&](const clusters::cell& a, const clusters::cell& b) {
            // the trials' dispersion measures are their places in order
            const auto& narrow = a.width < b.width ? a : b;
            const double begin = std::max(a.end - a.width, b.end - b.width);
            return a.beam == b.beam && std::abs(p.dms[a.trial] - p.dms[b.trial]) <= 1 &&
                   std::max(a.width, b.width) <=
                       std::max(2., 2 * std::pow(narrow.snr / 6., 2)) * narrow.width &&
                   begin - std::min(a.end, b.end) <= .5 * std::max(a.width, b.width);
        };
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t i = 0; i < cells.size(); i++)
                for (size_t j = 0; j < i; j++)
                    if (group[i] != group[j] && friends(cells[i], cells[j])) {
                        const int low = std::min(group[i], group[j]);
                        group[i] = group[j] = low;
                        changed = true;
                    }
        }
        const size_t expected = std::set<int>(group.begin(), group.end()).size();
        clusters made(p);
        for (const auto& c : cells)
            made.add(c);
        int all = 0;
        // in three beams, of which some belong together: each candidate has those it says
        size_t found = 0;
        for (const auto& c : made.rest()) {
            all += c.cells;
            found += c.beams.size();
        }
        CPPUNIT_ASSERT_EQUAL(int(cells.size()), all);
        CPPUNIT_ASSERT(found <= expected);

        auto one = p;
        one.beams = 1;
        clusters of_one(one);
        std::set<int> groups;
        for (size_t i = 0; i < cells.size(); i++)
            if (cells[i].beam == 0) {
                groups.insert(group[i]);
                of_one.add(cells[i]);
            }
        CPPUNIT_ASSERT_EQUAL(groups.size(), of_one.rest().size());
    }

    //! Clusters of parts, in the order of their ends, are those of all cells at once.
    void test_clusters_come_when_they_are_whole()
    {
        auto cells = random_cells(1500);
        std::sort(cells.begin(), cells.end(), [](const auto& a, const auto& b) {
            return a.end < b.end;
        });
        clusters at_once(three_beams()), in_pieces(three_beams());
        for (const auto& c : cells)
            at_once.add(c);
        std::multiset<std::pair<double, float>> expected, found;
        for (const auto& c : at_once.rest())
            expected.insert({ c.best.end, c.best.snr });
        size_t most = 0;
        for (const auto& c : cells) {
            for (const auto& f : in_pieces.finished(c.end - 1e-6))
                found.insert({ f.best.end, f.best.snr });
            in_pieces.add(c);
            most = std::max(most, in_pieces.waiting());
        }
        for (const auto& f : in_pieces.rest())
            found.insert({ f.best.end, f.best.snr });
        CPPUNIT_ASSERT(expected == found);
        CPPUNIT_ASSERT(most < 200);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_pulse_kernels);
