/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/conditioning/power_normalizer.h"
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace gr::aperture;
using kernels::power_normalizer;

/*!
 * Tests the host's kernel by itself. Python's tests compare it with a model through the
 * block; here are guards around the output, absurd powers, and errors.
 */
class qa_power_normalizer : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_power_normalizer);
    CPPUNIT_TEST(normalises_noise);
    CPPUNIT_TEST(stays_within_its_items);
    CPPUNIT_TEST(survives_absurd_powers);
    CPPUNIT_TEST(forgets_and_clears);
    CPPUNIT_TEST(errors_name_the_parameter);
    CPPUNIT_TEST_SUITE_END();

    const device d_cpu = device::select("cpu");
    std::unique_ptr<stream> d_stream = d_cpu.make_stream();
    std::mt19937 d_random{ 1 };

    static power_normalizer::parameters some()
    {
        power_normalizer::parameters p;
        p.channels = 35;
        p.beams = 3;
        p.segment = 16;
        p.segments = 4;
        p.cell_threshold = 20;
        p.channel_threshold = 8;
        p.spectrum_threshold = 8;
        return p;
    }

    std::vector<float> noise(const power_normalizer::parameters& p)
    {
        std::vector<float> made(p.cells() * p.segment);
        std::gamma_distribution<float> power(32, 3);
        for (auto& x : made)
            x = power(d_random);
        return made;
    }

    //! Normalises a segment, with guards around the output.
    std::vector<float> normalised(power_normalizer& kernel,
                                  const power_normalizer::parameters& p,
                                  const std::vector<float>& powers,
                                  int items,
                                  const uint8_t* present = nullptr)
    {
        const size_t bytes = items * p.item_bytes();
        std::vector<char> out(bytes + 64, 0x55);
        kernel.execute(powers.data(), out.data() + 32, items, present, *d_stream);
        for (int i = 0; i < 32; i++)
            CPPUNIT_ASSERT(out[i] == 0x55 && out[32 + bytes + i] == 0x55);
        std::vector<float> made(items * p.cells());
        for (size_t i = 0; i < made.size(); i++)
            if (p.integers)
                made[i] = static_cast<int8_t>(out[32 + i]);
            else
                std::memcpy(&made[i], out.data() + 32 + i * sizeof(float), sizeof(float));
        return made;
    }

    void normalises_noise()
    {
        const auto p = some();
        const auto kernel = power_normalizer::make(p, d_cpu);
        double sum = 0, squares = 0;
        const int segments = 20;
        for (int i = 0; i < segments; i++)
            for (const float y : normalised(*kernel, p, noise(p), p.segment)) {
                sum += y;
                squares += y * y;
            }
        const double cells = double(p.cells()) * p.segment * segments;
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0, sum / cells, 3 / std::sqrt(cells));
        CPPUNIT_ASSERT_DOUBLES_EQUAL(1, squares / cells, 0.05);
        for (const uint64_t n : kernel->counts())
            CPPUNIT_ASSERT_EQUAL(uint64_t(0), n);
    }

    void stays_within_its_items()
    {
        auto p = some();
        for (const bool integers : { false, true })
            for (const int channels : { 1, 15, 16, 17, 35, 515 }) {
                p.integers = integers;
                p.channels = channels;
                const auto kernel = power_normalizer::make(p, d_cpu);
                const auto powers = noise(p);
                std::vector<uint8_t> present(p.segment * p.beams, 1);
                present[4] = 0;
                for (const int items : { p.segment, 1, 7, p.segment }) {
                    const auto made =
                        normalised(*kernel, p, powers, items, present.data());
                    for (int k = 0; k < channels && items > 1; k++)
                        CPPUNIT_ASSERT_EQUAL(0.f, made[4 * channels + k]);
                }
                CPPUNIT_ASSERT_EQUAL(uint64_t(3 * channels),
                                     kernel->counts()[power_normalizer::counts_of_beam +
                                                      power_normalizer::missing]);
            }
    }

    void survives_absurd_powers()
    {
        auto p = some();
        for (const bool zero_dm : { false, true }) {
            p.zero_dm = zero_dm;
            const auto kernel = power_normalizer::make(p, d_cpu);
            const float most = std::numeric_limits<float>::max();
            for (int i = 0; i < 12; i++) {
                auto powers = noise(p);
                for (auto& x : powers)
                    if (const auto chance = d_random() % 40; chance == 0)
                        x = most;
                    else if (chance == 1)
                        x = -most;
                    else if (chance == 2)
                        x = NAN;
                    else if (chance == 3 || i == 5)
                        x = INFINITY;
                for (const float y : normalised(*kernel, p, powers, p.segment))
                    CPPUNIT_ASSERT(std::isfinite(y));
            }
            // the same as before, when all that was in the window has left it
            for (int i = 0; i < 5; i++)
                normalised(*kernel, p, noise(p), p.segment);
            double squares = 0;
            for (const float y : normalised(*kernel, p, noise(p), p.segment))
                squares += y * y;
            CPPUNIT_ASSERT_DOUBLES_EQUAL(
                1, squares / double(p.cells()) / p.segment, 0.15);
        }
    }

    void forgets_and_clears()
    {
        auto p = some();
        p.bad_channels = { 3 };
        const auto kernel = power_normalizer::make(p, d_cpu);
        const auto powers = noise(p);
        const auto first = normalised(*kernel, p, powers, p.segment);
        normalised(*kernel, p, noise(p), p.segment);
        CPPUNIT_ASSERT(first != normalised(*kernel, p, powers, p.segment));
        kernel->forget(*d_stream);
        CPPUNIT_ASSERT(first == normalised(*kernel, p, powers, p.segment));
        const auto flagged = [&] { return kernel->counts()[power_normalizer::channel]; };
        CPPUNIT_ASSERT_EQUAL(uint64_t(4 * p.segment), flagged());
        kernel->clear(*d_stream);
        CPPUNIT_ASSERT_EQUAL(uint64_t(0), flagged());
        CPPUNIT_ASSERT(first == normalised(*kernel, p, powers, p.segment));
    }

    void errors_name_the_parameter()
    {
        auto p = some();
        p.segments = 65;
        try {
            power_normalizer::make(p, d_cpu);
            CPPUNIT_FAIL("no error");
        } catch (const std::invalid_argument& e) {
            CPPUNIT_ASSERT(std::string(e.what()).find("segments: 65") == 0);
        }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_power_normalizer);
