/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/averaging/visibility_average.h"
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <cmath>
#include <complex>
#include <limits>
#include <random>

using namespace gr::aperture;
using kernels::visibility_average;

/*!
 * Tests the host's kernel by itself, against sums in long double. Python's tests compare
 * averages with a model through the block; here are guards, and sums that go on.
 */
class qa_averaging_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_averaging_kernels);
    CPPUNIT_TEST(sums_of_several_calls);
    CPPUNIT_TEST(stays_within_its_items);
    CPPUNIT_TEST(remembers_what_is_no_number);
    CPPUNIT_TEST(errors_name_the_parameter);
    CPPUNIT_TEST_SUITE_END();

    const device d_cpu = device::select("cpu");
    std::unique_ptr<stream> d_stream = d_cpu.make_stream();
    std::mt19937 d_random{ 1 };

    static visibility_average::parameters some()
    {
        return { 6, 3, 2, { { 2, 1 }, { 0, 2 }, { 1, 1 }, { 2, 1 } }, 2, 3, true };
    }

    //! A call with all that it takes.
    struct call {
        std::vector<cfloat> visibilities;
        std::vector<uint32_t> counts, counted;
        std::vector<uint8_t> used;
        std::vector<visibility_average::rotation> rotations;
        int items;
        visibility_average::items some(bool by_product) const
        {
            return { items, counted.data(), by_product, used.data(), rotations.data() };
        }
    };

    call random_call(const visibility_average::parameters& p, int items)
    {
        std::normal_distribution<float> normal;
        std::uniform_real_distribution<double> cycles(-1, 1);
        call c;
        c.items = items;
        c.visibilities.resize(size_t(items) * p.channels * p.all());
        for (auto& v : c.visibilities)
            v = { normal(d_random), normal(d_random) };
        c.counts.resize(c.visibilities.size());
        for (auto& n : c.counts)
            n = d_random() % 3 ? d_random() % 5000 : 0;
        c.counted.resize(items * p.all());
        for (auto& n : c.counted)
            n = d_random() % 3 ? d_random() % 5000 : 0;
        c.used.resize(items * p.sums());
        for (auto& u : c.used)
            u = d_random() % 2;
        c.rotations.resize(size_t(items) * p.centers * p.inputs);
        for (auto& r : c.rotations)
            r = { cycles(d_random), cycles(d_random) };
        return c;
    }

    //! Adds a call to sums [sum][channel][product], and counts.
    static void add(const visibility_average::parameters& p,
                    const call& c,
                    bool cells,
                    bool by_product,
                    std::vector<std::complex<double>>& sums,
                    std::vector<uint32_t>& counts)
    {
        const double two_pi = 2 * std::acos(-1.);
        for (int item = 0; item < c.items; item++)
            for (int sum = 0; sum < p.sums(); sum++)
                for (int channel = 0; channel < p.channels; channel++)
                    for (size_t i = 0; i < p.products.size(); i++) {
                        if (!c.used[item * p.sums() + sum])
                            continue;
                        const auto [a, b] = p.products[i];
                        const int high = std::max(a, b), low = std::min(a, b);
                        const int place = high * (high + 1) / 2 + low;
                        const size_t at =
                            (size_t(item) * p.channels + channel) * p.all() + place;
                        const uint32_t count = cells ? c.counts[at]
                                               : by_product
                                                   ? c.counted[item * p.all() + place]
                                                   : c.counted[item];
                        std::complex<double> v = c.visibilities[at];
                        if (a < b)
                            v = std::conj(v);
                        const auto* r =
                            c.rotations.data() +
                            (size_t(item) * p.centers + sum / p.gates) * p.inputs;
                        const double turned =
                            r[a].start - r[b].start +
                            (channel - p.channels / 2) * (r[a].slope - r[b].slope);
                        const size_t cell = (size_t(sum) * p.channels_out() +
                                             channel / p.summed_channels) *
                                                p.products.size() +
                                            i;
                        sums[cell] += v * std::polar(double(count), two_pi * turned);
                        counts[cell] += count;
                    }
    }

    void sums_of_several_calls()
    {
        const auto p = some();
        const auto kernel = visibility_average::make(p, d_cpu);
        for (int run = 0; run < 2; run++)
            for (const bool cells : { false, true }) {
                std::vector<std::complex<double>> sums(p.sums() * p.cells());
                std::vector<uint32_t> totals(sums.size());
                for (const bool by_product : { false, true, true }) {
                    const auto c = random_call(p, 5);
                    kernel->accumulate(c.visibilities.data(),
                                       cells ? c.counts.data() : nullptr,
                                       c.some(by_product),
                                       *d_stream);
                    add(p, c, cells, by_product, sums, totals);
                }
                for (int sum = 0; sum < p.sums(); sum++) {
                    std::vector<cfloat> average(p.cells(), { 7, 7 });
                    std::vector<uint32_t> counts(p.cells(), 7);
                    kernel->dump(sum, average.data(), counts.data(), *d_stream);
                    for (size_t i = 0; i < p.cells(); i++) {
                        const size_t cell = sum * p.cells() + i;
                        CPPUNIT_ASSERT_EQUAL(totals[cell], counts[i]);
                        const auto expected =
                            sums[cell] / double(std::max(1u, totals[cell]));
                        CPPUNIT_ASSERT(
                            std::abs(std::complex<double>(average[i]) - expected) < 2e-6);
                    }
                }
            }
    }

    void stays_within_its_items()
    {
        const auto p = some();
        const auto kernel = visibility_average::make(p, d_cpu);
        const auto c = random_call(p, 3);
        kernel->accumulate(c.visibilities.data(), nullptr, c.some(false), *d_stream);
        std::vector<cfloat> average(p.cells() + 2, { 7, 8 });
        std::vector<uint32_t> counts(p.cells() + 2, 9);
        kernel->dump(0, average.data() + 1, counts.data() + 1, *d_stream);
        for (const size_t guard : { size_t(0), p.cells() + 1 })
            CPPUNIT_ASSERT(average[guard] == cfloat(7, 8) && counts[guard] == 9);
        // without counts, and of sums that were cleared
        kernel->clear(*d_stream);
        kernel->dump(1, average.data() + 1, nullptr, *d_stream);
        for (size_t i = 0; i < p.cells(); i++)
            CPPUNIT_ASSERT(average[1 + i] == cfloat(0, 0));
    }

    void remembers_what_is_no_number()
    {
        const visibility_average::parameters p{ 1, 1, 1, { { 0, 0 } }, 0, 1, true };
        const auto kernel = visibility_average::make(p, d_cpu);
        const float bad = std::numeric_limits<float>::quiet_NaN();
        const auto add = [&](cfloat v, uint32_t counted) {
            const uint8_t used = 1;
            kernel->accumulate(
                &v, nullptr, { 1, &counted, false, &used, nullptr }, *d_stream);
        };
        const auto dump = [&] {
            cfloat average;
            uint32_t count = 0;
            kernel->dump(0, &average, &count, *d_stream);
            return std::make_pair(average, count);
        };
        add({ bad, 1 }, 5);
        add({ 3, 4 }, 0);
        auto found = dump();
        CPPUNIT_ASSERT(std::isnan(found.first.real()) && found.second == 0);
        add({ bad, 1 }, 5);
        add({ 3, 4 }, 2);
        add({ 1, bad }, 5);
        found = dump();
        CPPUNIT_ASSERT(found.first == cfloat(3, 4) && found.second == 2);
        add({ bad, bad }, 0);
        CPPUNIT_ASSERT(dump().first == cfloat(0, 0));
    }

    void errors_name_the_parameter()
    {
        auto p = some();
        p.summed_channels = 4;
        CPPUNIT_ASSERT_THROW(p.check(), std::invalid_argument);
        p = some();
        p.products = {};
        CPPUNIT_ASSERT_THROW(p.check(), std::invalid_argument);
        p.products = { { 3, 0 } };
        CPPUNIT_ASSERT_THROW(p.check(), std::invalid_argument);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_averaging_kernels);
