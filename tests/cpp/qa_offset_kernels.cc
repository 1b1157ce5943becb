/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/detection.h"
#include "signal/alignment/offset_tracker.h"
#include "signal/alignment/phase_line.h"
#include "signal/alignment/spectrum.h"
#include <gnuradio/aperture/measure_offsets.h>
#include <cppunit/extensions/HelperMacros.h>
#include <cmath>
#include <random>
#include <vector>

using namespace gr::aperture;
using namespace gr::aperture::kernels::alignment;

namespace {

using samples = std::vector<cfloat>;

//! Makes complex noise of power 1, white.
class noise
{
public:
    explicit noise(unsigned seed) : d_random(seed) {}
    samples operator()(int64_t count)
    {
        samples x(count);
        for (auto& value : x)
            value = { d_normal(d_random), d_normal(d_random) };
        return x;
    }

private:
    std::mt19937 d_random;
    std::normal_distribution<float> d_normal{ 0, float(std::sqrt(0.5)) };
};

//! Returns the sum of a signal, delayed by whole samples and with a phase, and noise;
//! `share` is the signal's fraction of the power.
samples receiver(const samples& signal,
                 int64_t first,
                 int64_t count,
                 double share,
                 double phase,
                 noise& own)
{
    auto x = own(count);
    const auto factor = cfloat(std::polar(std::sqrt(share), phase));
    for (int64_t n = 0; n < count; n++)
        x[n] = x[n] * float(std::sqrt(1 - share)) + factor * signal[first + n];
    return x;
}

} // namespace

class qa_offset_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_offset_kernels);
    CPPUNIT_TEST(strength_is_exponential);
    CPPUNIT_TEST(threshold_of_many_lags);
    CPPUNIT_TEST(correlated_lags_count_less);
    CPPUNIT_TEST(lines_and_edges_are_not_used);
    CPPUNIT_TEST(line_without_noise);
    CPPUNIT_TEST(line_is_as_good_as_its_bound);
    CPPUNIT_TEST(lags_of_any_size_and_sign);
    CPPUNIT_TEST(odd_one_out);
    CPPUNIT_TEST(tracker_sees_slips);
    CPPUNIT_TEST(tracker_takes_any_pieces);
    CPPUNIT_TEST(tracker_loses_an_input);
    CPPUNIT_TEST_SUITE_END();

public:
    //! (1 - x)^(N - 1) of the coherence^2 of N samples of noise; N = 5, and 20000 tries
    void strength_is_exponential()
    {
        noise make(1);
        const int tries = 20000, count = 5;
        double sum = 0;
        int above = 0;
        for (int i = 0; i < tries; i++) {
            const auto a = make(count), b = make(count);
            cfloat product = 0;
            double of_a = 0, of_b = 0;
            for (int n = 0; n < count; n++) {
                product += a[n] * std::conj(b[n]);
                of_a += std::norm(a[n]);
                of_b += std::norm(b[n]);
            }
            const double strength = strength_of(std::norm(product) / of_a / of_b, count);
            sum += strength;
            above += strength > 3;
        }
        // 4 sigma
        CPPUNIT_ASSERT_DOUBLES_EQUAL(1, sum / tries, 4 / std::sqrt(tries));
        const double expected = tries * std::exp(-3.);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(expected, above, 4 * std::sqrt(expected));
        // equal inputs: large, but a number
        CPPUNIT_ASSERT(strength_of(1, 100) > 1000 && std::isfinite(strength_of(1, 100)));
    }

    //! The closed form for independent lags, and the threshold for 2 10^7 of them.
    void threshold_of_many_lags()
    {
        const searched_lags white{ 2e7, 1, 1 / std::sqrt(12.) };
        CPPUNIT_ASSERT_DOUBLES_EQUAL(2e7, white.independent(20), 2e7 * 1e-3);
        const double threshold = white.threshold(1e-4);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(
            -std::log(-std::expm1(std::log1p(-1e-4) / 2e7)), threshold, 1e-3);
        // coherence sqrt(N)
        CPPUNIT_ASSERT_DOUBLES_EQUAL(5.1, std::sqrt(threshold), 0.01);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(1e-4, white.false_alarms(threshold), 1e-9);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(
            0.01, white.false_alarms(white.threshold(0.01)), 1e-8);
    }

    //! A continuous correlation of the bandwidth 1 exceeds s at the rate 2 sqrt(pi s) rms
    //! exp(-s) (Rice 1944), however finely it is sampled.
    void correlated_lags_count_less()
    {
        const double rms = 1 / std::sqrt(12.), s = 20;
        const double rate = 2 * std::sqrt(M_PI * s) * rms;
        for (const double spacing : { 1e-2, 1e-3 }) {
            const searched_lags fine{ 1000 / spacing, spacing, rms };
            CPPUNIT_ASSERT_DOUBLES_EQUAL(
                1000 * rate, fine.independent(s), 1000 * rate * 2e-3);
        }
    }

    void lines_and_edges_are_not_used()
    {
        std::vector<double> spectrum(256, 1);
        for (int k = 100; k < 150; k++)
            spectrum[k] = 0.01; // beyond the edges of a filter
        spectrum[0] = 1000;     // the offset of the receiver
        spectrum[37] = 20;
        spectrum[120] = 0.5; // a line outside
        const auto used = used_channels(spectrum);
        for (int k = 0; k < 256; k++) {
            const bool line = k <= 1 || k == 255 || (k >= 36 && k <= 38);
            const bool outside = k >= 100 && k < 150 && k != 120;
            if (k == 120)
                continue; // this one is as strong as the inner ones
            CPPUNIT_ASSERT_EQUAL_MESSAGE(
                std::to_string(k), int(!line && !outside), int(used[k]));
        }
    }

    void line_without_noise()
    {
        const int channels = 96;
        for (const double delay : { 0., 0.37, -2.75, 20.5, -31.9 }) {
            const double phase = 2.5;
            std::vector<std::complex<double>> values(channels);
            for (int k = 0; k < channels; k++)
                values[k] =
                    std::polar(0.5, phase - 2 * M_PI * frequency_of(k, channels) * delay);
            const auto line =
                fit_phase_line(values, std::vector<char>(channels, 1), 100, 40);
            CPPUNIT_ASSERT_DOUBLES_EQUAL(delay, line.delay, 1e-9);
            CPPUNIT_ASSERT_DOUBLES_EQUAL(phase, line.phase, 1e-9);
            CPPUNIT_ASSERT_DOUBLES_EQUAL(0.5, line.coherence, 1e-9);
            // 2 N g^2 / (1 - g^2), and (2 pi)^2 / 12 times it
            const double one = 2 * 100. * channels * 0.25 / 0.75;
            CPPUNIT_ASSERT_DOUBLES_EQUAL(one, line.known[0], one * 1e-6);
            CPPUNIT_ASSERT_DOUBLES_EQUAL(
                one * M_PI * M_PI / 3, line.known[2], one * M_PI * M_PI / 3 * 1e-3);
        }
    }

    //! Channels of a signal-to-noise of 0.4 each, whose single phases are random.
    void line_is_as_good_as_its_bound()
    {
        const int channels = 512, tries = 400;
        const double coherence = 0.04, windows = 100, delay = 0.3, phase = -1;
        std::mt19937 random(3);
        std::normal_distribution<double> normal(0, std::sqrt(0.5 / windows));
        double delays = 0, phases = 0;
        for (int i = 0; i < tries; i++) {
            std::vector<std::complex<double>> values(channels);
            for (int k = 0; k < channels; k++)
                values[k] =
                    std::polar(coherence,
                               phase - 2 * M_PI * frequency_of(k, channels) * delay) +
                    std::complex<double>(normal(random), normal(random));
            const auto line =
                fit_phase_line(values, std::vector<char>(channels, 1), windows, 4);
            delays += std::pow(line.delay - delay, 2) * line.known[2];
            phases += std::pow(line.phase - phase, 2) * line.known[0];
        }
        // chi^2 of so many tries, within 4 sigma, and 10% for weights that are noisy
        const double most = 1.1 + 4 * std::sqrt(2. / tries);
        CPPUNIT_ASSERT(delays / tries < most && delays / tries > 2 - most);
        CPPUNIT_ASSERT(phases / tries < most && phases / tries > 2 - most);
    }

    void lags_of_any_size_and_sign()
    {
        const int64_t count = 20011;
        noise make(4);
        const auto signal = make(3 * count);
        const auto a = receiver(signal, count, count, 0.3, 0, make);
        for (const int64_t lag : { 0, 1, -1, 511, 512, -513, 9999, -10005 }) {
            const auto b = receiver(signal, count + lag, count, 0.3, 0.5, make);
            offset_search search;
            search.reference = 0;
            const auto result = measure_offsets({ a.data(), b.data() }, count, search);
            const auto& offset = result.inputs[1];
            CPPUNIT_ASSERT(offset.found);
            CPPUNIT_ASSERT_EQUAL(lag, offset.lag);
            CPPUNIT_ASSERT_DOUBLES_EQUAL(0, offset.fraction, 5 * offset.sigma_delay);
            CPPUNIT_ASSERT_DOUBLES_EQUAL(-0.5, offset.phase, 5 * offset.sigma_phase);
            CPPUNIT_ASSERT_DOUBLES_EQUAL(0.3, offset.coherence, 0.05);
        }
    }

    //! An input that has nothing in common with the others, even as reference.
    void odd_one_out()
    {
        const int64_t count = 10007;
        noise make(5);
        const auto signal = make(count + 100);
        std::vector<samples> x;
        for (int i = 0; i < 4; i++)
            x.push_back(receiver(signal, 20 * i, count, i == 2 ? 0 : 0.4, 0.1 * i, make));
        x.emplace_back(count); // a receiver that is off
        std::vector<const cfloat*> pointers;
        for (const auto& input : x)
            pointers.push_back(input.data());
        offset_search search;
        for (const int reference : { 0, 2, 4 }) {
            search.reference = reference;
            const auto result = measure_offsets(pointers, count, search);
            if (reference == 0)
                CPPUNIT_ASSERT_EQUAL(0, result.reference);
            else
                CPPUNIT_ASSERT(result.reference >= 0 && result.reference != reference);
            for (const int i : { 0, 1, 3 }) {
                const auto& offset = result.inputs[i];
                const int steps = i - result.reference;
                CPPUNIT_ASSERT(offset.found);
                CPPUNIT_ASSERT_EQUAL(int64_t(20 * steps), offset.lag);
                CPPUNIT_ASSERT_DOUBLES_EQUAL(
                    -0.1 * steps, offset.phase, 5 * offset.sigma_phase + 1e-12);
            }
            CPPUNIT_ASSERT_EQUAL(
                std::string("these inputs do not correlate: offset unknown"),
                result.inputs[2].reason);
            CPPUNIT_ASSERT_EQUAL(
                std::string("this input is zero throughout: offset unknown"),
                result.inputs[4].reason);
            CPPUNIT_ASSERT(result.closure_delay > 0 && result.closure_delay < 0.1);
        }
    }

    void tracker_sees_slips()
    {
        const int64_t interval = 5003, intervals = 12;
        noise make(6);
        const auto signal = make(interval * intervals + 100);
        offset_tracker tracker({ 2, 0, 64, interval });
        tracker.expect(1, { 0, -0.7 });
        int slips = 0;
        for (int64_t i = 0; i < intervals; i++) {
            const auto a = receiver(signal, 50 + i * interval, interval, 0.5, 0, make);
            // three samples were lost on the way to the sixth interval
            const int64_t lost = i >= 5 ? 3 : 0;
            const auto b =
                receiver(signal, 50 + i * interval + lost, interval, 0.5, 0.7, make);
            CPPUNIT_ASSERT_EQUAL(1, tracker.add({ a.data(), b.data() }, interval));
            const auto& state = tracker.states()[1];
            CPPUNIT_ASSERT(state.found && !state.lost);
            CPPUNIT_ASSERT_EQUAL(i == 5, state.slipped);
            slips += state.slipped;
            CPPUNIT_ASSERT_DOUBLES_EQUAL(
                double(lost), state.delay, 6 * state.sigma_delay);
            CPPUNIT_ASSERT_DOUBLES_EQUAL(0, state.phase, 6 * state.sigma_phase);
        }
        CPPUNIT_ASSERT_EQUAL(1, slips);
    }

    void tracker_takes_any_pieces()
    {
        const int64_t interval = 4099, count = 3 * interval + 17;
        noise make(7);
        const auto signal = make(count + 10);
        const auto a = receiver(signal, 0, count, 0.2, 0, make);
        const auto b = receiver(signal, 2, count, 0.2, 0, make);
        offset_tracker whole({ 2, 1, 32, interval, 0.9 });
        offset_tracker parts({ 2, 1, 32, interval, 0.9 });
        CPPUNIT_ASSERT_EQUAL(3, whole.add({ a.data(), b.data() }, count));
        int completed = 0;
        for (int64_t at = 0, size = 1; at < count;
             at += size, size = size * 3 % 1009 + 1) {
            size = std::min(size, count - at);
            completed += parts.add({ a.data() + at, b.data() + at }, size);
        }
        CPPUNIT_ASSERT_EQUAL(3, completed);
        CPPUNIT_ASSERT_EQUAL(whole.states()[0].delay, parts.states()[0].delay);
        CPPUNIT_ASSERT_EQUAL(whole.states()[0].phase, parts.states()[0].phase);
        // relative to input 1: input 0 has to be delayed less
        CPPUNIT_ASSERT_DOUBLES_EQUAL(-2, parts.states()[0].delay, 0.2);
    }

    void tracker_loses_an_input()
    {
        const int64_t interval = 6007;
        noise make(8);
        const auto signal = make(3 * interval);
        offset_tracker tracker({ 3, 0, 128, interval });
        for (int i = 0; i < 3; i++) {
            const auto a = receiver(signal, i * interval, interval, 0.3, 0, make);
            const auto b = receiver(signal, i * interval, interval, 0.3, 0, make);
            const auto c =
                receiver(signal, i * interval, interval, i == 1 ? 0 : 0.3, 0, make);
            tracker.add({ a.data(), b.data(), c.data() }, interval);
            CPPUNIT_ASSERT(tracker.states()[1].found);
            CPPUNIT_ASSERT_EQUAL(i != 1, tracker.states()[2].found);
            CPPUNIT_ASSERT_EQUAL(i == 1, tracker.states()[2].lost);
        }
        tracker.restart();
        CPPUNIT_ASSERT(!tracker.states()[1].found);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_offset_kernels);
