/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/dedispersion/dedisperser.h"
#include "kernels/dedispersion/sub_bands.h"
#include "runtime/host_stream.h"
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <cmath>
#include <random>
#include <string>
#include <vector>

using namespace gr::aperture;
using kernels::dedisperser;
using kernels::power_type;

namespace {

//! Returns trials out of order, of several decimations, over a band of a third of its
//! frequency.
dedisperser::parameters wide_band(power_type type, double tolerance)
{
    dedisperser::parameters p{
        { 77, 600e6, 200e6 }, 256e-6, { 3, 56, {}, {} }, type, tolerance
    };
    for (int i = 0; i < 41; ++i) {
        p.trials.dms.push_back((i * 17 % 41) * 0.75);
        p.trials.decimations.push_back(i % 5 == 0 ? 4 : i % 3 == 0 ? 8 : 1);
    }
    return p;
}

dedisperser::parameters narrow_band(power_type type, double tolerance)
{
    dedisperser::parameters p{
        { 130, 408e6, 20e6 }, 409.6e-6, { 2, 100, {}, {} }, type, tolerance
    };
    for (int i = 0; i < 120; ++i)
        p.trials.dms.push_back(i * 0.1);
    return p;
}

} // namespace

class qa_dedispersion_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_dedispersion_kernels);
    CPPUNIT_TEST(sums);
    CPPUNIT_TEST(delays);
    CPPUNIT_TEST(rounded_delays);
    CPPUNIT_TEST(sums_are_shared);
    CPPUNIT_TEST(layout);
    CPPUNIT_TEST(errors);
    CPPUNIT_TEST_SUITE_END();

    std::mt19937 d_random{ 1 };

    //! Compares with the sum along the stated delays, in double precision.
    template <class Power>
    void compare(const dedisperser::parameters& p, int64_t times)
    {
        const auto kernel = kernels::host::make<kernels::dedisperser>(p);
        const int64_t channels = p.band.channels, beams = p.trials.beams,
                      each = p.trials.times_per_item;
        std::uniform_int_distribution<int> any(p.type == power_type::u8 ? 0 : -128,
                                               p.type == power_type::u8 ? 255 : 127);
        std::vector<Power> powers(size_t(times + kernel->longest_delay()) * beams *
                                  channels);
        for (auto& power : powers)
            power = Power(any(d_random));
        const int64_t items = (times + each - 1) / each;
        std::vector<float> found(size_t(items) * p.trials.values(), 1e30f);
        host_stream s;
        kernel->execute(powers.data(), found.data(), times, s);

        const auto delays = kernel->delays();
        const auto offsets = p.trials.offsets();
        for (int64_t item = 0; item < items; ++item)
            for (int beam = 0; beam < beams; ++beam)
                for (int trial = 0; trial < p.trials.trials(); ++trial)
                    for (int j = 0; j < p.trials.times(trial); ++j) {
                        const int d = p.trials.decimation(trial);
                        const int64_t first = item * each + int64_t(j) * d;
                        double expected = 0;
                        for (int k = 0; k < channels && first + d <= times; ++k)
                            for (int i = 0; i < d; ++i)
                                expected +=
                                    powers[((first + i + delays[trial * channels + k]) *
                                                beams +
                                            beam) *
                                               channels +
                                           k];
                        const float value = found[item * p.trials.values() +
                                                  p.trials.offset(beam, trial) + j];
                        CPPUNIT_ASSERT_EQUAL(float(expected), value);
                    }
        CPPUNIT_ASSERT_EQUAL(beams * offsets.back(), p.trials.values());
    }

public:
    void sums()
    {
        // integers in f32 as well: their sums are exact
        for (const double tolerance : { 0.5, 1., 3. }) {
            compare<int8_t>(wide_band(power_type::s8, tolerance), 56);
            compare<uint8_t>(wide_band(power_type::u8, tolerance), 3 * 56);
            compare<float>(wide_band(power_type::f32, tolerance), 2 * 56 + 29);
        }
        compare<int8_t>(narrow_band(power_type::s8, 1), 1137);
        compare<uint8_t>(narrow_band(power_type::u8, 1), 100);
        compare<float>(narrow_band(power_type::f32, 1), 99);
        // more than one part of the host's work
        auto longer = narrow_band(power_type::s8, 1);
        longer.trials.dms = { 12, 3 };
        longer.trials.decimations = { 4, 2 };
        longer.trials.beams = 1;
        compare<int8_t>(longer, 9001);
    }

    void delays()
    {
        for (const double tolerance : { 0.6, 1., 4. })
            for (const auto& p : { wide_band(power_type::s8, tolerance),
                                   narrow_band(power_type::s8, tolerance) }) {
                const auto kernel = kernels::host::make<kernels::dedisperser>(p);
                const auto found = kernel->delays();
                int64_t longest = 0;
                double most = 0;
                for (int trial = 0; trial < p.trials.trials(); ++trial)
                    for (int k = 0; k < p.band.channels; ++k) {
                        const int64_t delay = found[trial * p.band.channels + k];
                        const int d = p.trials.decimation(trial);
                        const double exact =
                            p.band.delay(p.trials.dms[trial], k) / p.sample_time;
                        CPPUNIT_ASSERT_EQUAL(int64_t(0), delay % d);
                        CPPUNIT_ASSERT(delay >= 0);
                        most = std::max(most, std::abs(delay - exact) / d);
                        longest = std::max(longest, delay);
                    }
                CPPUNIT_ASSERT(most <= tolerance + 1e-9);
                CPPUNIT_ASSERT(most > 0.5);
                CPPUNIT_ASSERT_EQUAL(longest, kernel->longest_delay());
            }
    }

    void rounded_delays()
    {
        for (const auto& p :
             { wide_band(power_type::u8, 0.5), narrow_band(power_type::u8, 0.5) }) {
            const auto found = kernels::host::make<kernels::dedisperser>(p)->delays();
            for (int trial = 0; trial < p.trials.trials(); ++trial)
                for (int k = 0; k < p.band.channels; ++k) {
                    const int d = p.trials.decimation(trial);
                    CPPUNIT_ASSERT_EQUAL(d * p.band.rounded_delay(p.trials.dms[trial],
                                                                  k,
                                                                  p.sample_time * d),
                                         found[trial * p.band.channels + k]);
                }
        }
    }

    //! The purpose of the method: BEST-2's trials in a ninth of the additions.
    void sums_are_shared()
    {
        dedisperser::parameters p{
            { 1024, 408e6, 20e6 }, 51.2e-6, { 1, 4096, {}, {} }, power_type::s8, 1
        };
        for (int i = 0; i < 864; ++i)
            p.trials.dms.push_back(i * 0.1);
        const auto plans = kernels::plan_sub_bands(p);
        CPPUNIT_ASSERT_EQUAL(size_t(1), plans.size());
        CPPUNIT_ASSERT(plans[0].additions() < 1024 * 864 / 8);
        CPPUNIT_ASSERT_EQUAL(int64_t(4120), kernels::longest_delay_of(plans, 1024));
    }

    void layout()
    {
        const kernels::trial_layout l{ 2, 8, { 5, 6, 7 }, { 1, 4, 2 } };
        l.check();
        CPPUNIT_ASSERT_EQUAL(int64_t(14), l.beam_values());
        CPPUNIT_ASSERT_EQUAL(int64_t(14 + 8), l.offset(1, 1));
        CPPUNIT_ASSERT_EQUAL(4 * 28, l.item_bytes());
        CPPUNIT_ASSERT(std::vector<int64_t>({ 0, 8, 10, 14 }) == l.offsets());
    }

    void errors()
    {
        const auto refused = [](const std::string& name, auto change) {
            auto p = narrow_band(power_type::s8, 1);
            change(p);
            try {
                p.check();
            } catch (const std::invalid_argument& e) {
                return std::string(e.what()).find(name) != std::string::npos;
            }
            return false;
        };
        using parameters = dedisperser::parameters;
        CPPUNIT_ASSERT(refused("channels", [](parameters& p) { p.band.channels = 0; }));
        CPPUNIT_ASSERT(
            refused("bandwidth", [](parameters& p) { p.band.bandwidth = -1; }));
        CPPUNIT_ASSERT(refused("center_frequency",
                               [](parameters& p) { p.band.center_frequency = 1e6; }));
        CPPUNIT_ASSERT(refused("sample_time", [](parameters& p) { p.sample_time = 0; }));
        CPPUNIT_ASSERT(refused("tolerance", [](parameters& p) { p.tolerance = 0.4; }));
        CPPUNIT_ASSERT(refused("tolerance", [](parameters& p) { p.tolerance = NAN; }));
        CPPUNIT_ASSERT(refused("dms", [](parameters& p) { p.trials.dms = {}; }));
        CPPUNIT_ASSERT(refused("dms", [](parameters& p) { p.trials.dms = { -1. }; }));
        CPPUNIT_ASSERT(refused("dms", [](parameters& p) { p.trials.dms = { 1e12 }; }));
        CPPUNIT_ASSERT(refused("beams", [](parameters& p) { p.trials.beams = 0; }));
        CPPUNIT_ASSERT(refused("times_per_item",
                               [](parameters& p) { p.trials.times_per_item = 0; }));
        CPPUNIT_ASSERT(
            refused("decimations", [](parameters& p) { p.trials.decimations = { 1 }; }));
        CPPUNIT_ASSERT(refused("decimations", [](parameters& p) {
            p.trials.decimations.assign(120, 8); // 100 is no multiple of it
        }));
        CPPUNIT_ASSERT(refused("dedispersed item", [](parameters& p) {
            p.trials.beams = 65536;
            p.trials.times_per_item = 1 << 20;
        }));
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_dedispersion_kernels);
