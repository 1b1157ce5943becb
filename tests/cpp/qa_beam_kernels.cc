/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beam_power/beam_power.h"
#include "kernels/beamformer/beamformer.h"
#include "kernels/beamformer/host_beam_forming.h"
#include "kernels/common/makers.h"
#include "kernels/power_detector/power_detector.h"
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

using namespace gr::aperture;
using kernels::detection;
using cdouble = std::complex<double>;

namespace {

const std::vector<sample_type> voltage_types{ sample_type::sc8,
                                              sample_type::sc4,
                                              sample_type::fc32 };

//! Random voltages of a type, and their values.
struct voltages {
    std::vector<char> bytes;
    std::vector<cdouble> values;

    voltages(sample_type type, size_t count, std::mt19937& random)
        : bytes(count * size_of(type)), values(count)
    {
        const int limit = type == sample_type::sc4 ? 7 : 127;
        std::uniform_int_distribution<int> integer(-limit, limit);
        std::normal_distribution<float> real(0, 20);
        for (size_t i = 0; i < count; i++) {
            if (type == sample_type::fc32) {
                const cfloat v(real(random), real(random));
                reinterpret_cast<cfloat*>(bytes.data())[i] = v;
                values[i] = cdouble(v);
                continue;
            }
            const int re = integer(random), im = integer(random);
            values[i] = cdouble(re, im);
            if (type == sample_type::sc8) {
                bytes[2 * i] = char(re);
                bytes[2 * i + 1] = char(im);
            } else {
                bytes[i] = char((re & 15) << 4 | (im & 15));
            }
        }
    }
};

std::vector<cfloat> random_weights(size_t count, std::mt19937& random)
{
    std::normal_distribution<float> real;
    std::vector<cfloat> weights(count);
    for (auto& w : weights)
        w = cfloat(real(random), real(random));
    return weights;
}

//! Returns the sums, [frame][channel][beam][time], in double precision.
std::vector<cdouble> beams_of(const std::vector<cdouble>& x,
                              const std::vector<cfloat>& weights,
                              const std::vector<float>& gains,
                              int frames,
                              int channels,
                              int inputs,
                              int times)
{
    const int beams = int(gains.size());
    std::vector<cdouble> sums(size_t(frames) * channels * beams * times);
    for (int row = 0; row < frames * channels; row++)
        for (int m = 0; m < beams; m++)
            for (int t = 0; t < times; t++) {
                cdouble sum = 0;
                for (int i = 0; i < inputs; i++)
                    sum +=
                        cdouble(
                            weights[(size_t(row % channels) * beams + m) * inputs + i]) *
                        x[(size_t(row) * inputs + i) * times + t];
                sums[(size_t(row) * beams + m) * times + t] = sum * double(gains[m]);
            }
    return sums;
}

//! Returns the four products of a pair: XX, YY, Re XY*, Im XY*.
std::array<double, 4> coherency(const cdouble* x, const cdouble* y, int64_t count)
{
    double xx = 0, yy = 0;
    cdouble xy = 0;
    for (int64_t t = 0; t < count; t++) {
        xx += std::norm(x[t]);
        yy += std::norm(y[t]);
        xy += x[t] * std::conj(y[t]);
    }
    return { xx, yy, xy.real(), xy.imag() };
}

//! Returns the products of a pair, from the formulas of the design.
std::vector<double> products_of(const std::array<double, 4>& c, const detection& d)
{
    const auto [a, b, re, im] = c;
    const bool linear = d.basis == detection::feeds::linear;
    switch (d.products) {
    case detection::product_set::intensity:
        return { a + b };
    case detection::product_set::stokes:
        if (linear)
            return { a + b, a - b, 2 * re, 2 * im };
        return { a + b, 2 * re, 2 * im, a - b };
    default:
        return { a, b, re, im };
    }
}

} // namespace

class qa_beam_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_beam_kernels);
    CPPUNIT_TEST(beams_are_sums);
    CPPUNIT_TEST(many_inputs);
    CPPUNIT_TEST(eight_bits_are_rounded_and_counted);
    CPPUNIT_TEST(powers_are_sums);
    CPPUNIT_TEST(long_integrations);
    CPPUNIT_TEST(both_in_one);
    CPPUNIT_TEST(incoherent_beams);
    CPPUNIT_TEST(errors_name_the_parameter);
    CPPUNIT_TEST_SUITE_END();

    std::mt19937 d_random{ 1937 };
    const device d_cpu = device::select("cpu");
    const std::unique_ptr<stream> d_stream = d_cpu.make_stream();

    //! Compares fc32 output with the sums: 16 bits of the largest weight, or fp32.
    void compare(int frames,
                 const kernels::beamformer::parameters& p,
                 const std::string& vectors)
    {
        const voltages x(p.input,
                         size_t(frames) * p.channels * p.inputs * p.spectra_per_frame,
                         d_random);
        const auto weights =
            random_weights(size_t(p.channels) * p.beams * p.inputs, d_random);
        std::vector<float> gains(p.beams);
        for (int m = 0; m < p.beams; m++)
            gains[m] = 1 - 0.25f * (m % 7);
        const auto expected = beams_of(
            x.values, weights, gains, frames, p.channels, p.inputs, p.spectra_per_frame);
        auto kernel = kernels::host::make<kernels::beamformer>(p, vectors);
        kernel->set_weights(weights.data(), *d_stream);
        kernel->set_gains(gains.data(), *d_stream);
        std::vector<cfloat> out(expected.size() + 1, cfloat(7, 7));
        kernel->execute(x.bytes.data(), out.data(), frames, *d_stream);
        CPPUNIT_ASSERT(out.back() == cfloat(7, 7));
        // weights are off by up to 0.5/32767 of the largest one, which is about 3: with
        // voltages of up to 127 (7), five times the rms of the sum's error
        const double largest = p.input == sample_type::sc4 ? 7 : 127;
        const double step = p.input == sample_type::fc32 ? 1e-6 : 3 / 32767.;
        const double tolerance = 2 * step * largest * std::sqrt(p.inputs);
        for (size_t i = 0; i < expected.size(); i++)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(
                0, std::abs(expected[i] - cdouble(out[i])), tolerance);
    }

    void beams_are_sums()
    {
        for (const auto& vectors : kernels::host::beam_vectors())
            for (auto type : voltage_types)
                for (auto [inputs, beams, times] : { std::array{ 1, 1, 1 },
                                                     { 5, 7, 33 },
                                                     { 32, 12, 64 },
                                                     { 3, 9, 1100 } })
                    compare(
                        2, { 3, inputs, beams, times, type, sample_type::fc32 }, vectors);
    }

    void many_inputs()
    {
        for (const auto& vectors : kernels::host::beam_vectors())
            for (auto type : voltage_types)
                compare(1, { 2, 600, 3, 70, type, sample_type::fc32 }, vectors);
    }

    void eight_bits_are_rounded_and_counted()
    {
        // sums of exact numbers, with halves among them
        const kernels::beamformer::parameters p{
            1, 2, 3, 37, sample_type::sc8, sample_type::sc8
        };
        const voltages x(p.input, 2 * p.spectra_per_frame, d_random);
        const std::vector<cfloat> weights{ 0.5f, 0, 0, cfloat(0, 1), 1, 1 };
        for (const auto& vectors : kernels::host::beam_vectors()) {
            auto kernel = kernels::host::make<kernels::beamformer>(p, vectors);
            kernel->set_weights(weights.data(), *d_stream);
            std::vector<int8_t> out(3 * p.spectra_per_frame * 2 + 1, 99);
            kernel->execute(x.bytes.data(), out.data(), 1, *d_stream);
            CPPUNIT_ASSERT_EQUAL(99, int(out.back()));
            std::vector<uint64_t> clamped(3);
            for (int m = 0; m < 3; m++)
                for (int t = 0; t < p.spectra_per_frame; t++) {
                    const cdouble a = x.values[t], b = x.values[p.spectra_per_frame + t];
                    const cdouble y[] = { 0.5 * a, cdouble(0, 1) * b, a + b };
                    bool outside = false;
                    for (int part = 0; part < 2; part++) {
                        const double v = std::nearbyint(part ? y[m].imag() : y[m].real());
                        outside = outside || std::abs(v) > 127;
                        CPPUNIT_ASSERT_EQUAL(
                            int(std::clamp(v, -127., 127.)),
                            int(out[(m * p.spectra_per_frame + t) * 2 + part]));
                    }
                    clamped[m] += outside;
                }
            CPPUNIT_ASSERT(clamped[2] > 0);
            CPPUNIT_ASSERT(clamped == kernel->clamped());
        }
    }

    //! Returns powers of beams [frame][channel][beam][time], as the kernels do.
    std::vector<double> powers_of(const std::vector<cdouble>& beams,
                                  const detection& d,
                                  int frames,
                                  int channels,
                                  int count,
                                  int times,
                                  const std::vector<float>& scales)
    {
        const int64_t length = std::min<int64_t>(d.spectra, times);
        const int integrations = int(times / length), rows = d.rows(count);
        const int products = d.product_count(), wide = channels / d.summed_channels;
        const int polarisations = d.of_pairs() ? 2 : 1;
        std::vector<double> powers(size_t(frames) * integrations * rows * products *
                                   wide);
        for (int n = 0; n < frames * integrations; n++)
            for (int r = 0; r < rows; r++)
                for (int k = 0; k < channels; k++) {
                    const size_t channel = size_t(n / integrations) * channels + k;
                    const cdouble* x =
                        &beams[(channel * count + r * polarisations) * times +
                               n % integrations * length];
                    const cdouble* y = x + (polarisations - 1) * times;
                    auto c = coherency(x, y, length);
                    auto scale = [&](int part) {
                        return scales.size() == 1
                                   ? scales[0]
                                   : scales[(size_t(n) * rows + r) * d.parts() + part];
                    };
                    std::vector<double> p{ c[0] * scale(0) };
                    if (d.of_pairs())
                        p = products_of({ c[0] * scale(0),
                                          c[1] * scale(1),
                                          c[2] * scale(2),
                                          c[3] * scale(2) },
                                        d);
                    for (int i = 0; i < products; i++)
                        powers[((size_t(n) * rows + r) * products + i) * wide +
                               k / d.summed_channels] += p[i];
                }
        return powers;
    }

    static std::vector<detection> all_detections(int64_t spectra, int summed)
    {
        using set = detection::product_set;
        using feeds = detection::feeds;
        std::vector<detection> all;
        for (auto products : { set::power, set::intensity, set::stokes, set::coherency })
            for (auto basis : { feeds::linear, feeds::circular })
                all.push_back({ products, basis, spectra, summed });
        return all;
    }

    void check_equal(const std::vector<double>& expected,
                     const std::vector<float>& powers,
                     double tolerance)
    {
        CPPUNIT_ASSERT_EQUAL(expected.size() + 1, powers.size());
        CPPUNIT_ASSERT_EQUAL(-7.f, powers.back());
        double largest = 0;
        for (double p : expected)
            largest = std::max(largest, std::abs(p));
        for (size_t i = 0; i < expected.size(); i++)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(expected[i], powers[i], tolerance * largest);
    }

    void powers_are_sums()
    {
        const int frames = 2, channels = 6, beams = 4, times = 1050;
        for (auto type : { sample_type::fc32, sample_type::sc8 })
            for (int64_t spectra : { 1050, 525, 35, 1 })
                for (const auto& d : all_detections(spectra, 3)) {
                    const voltages x(
                        type, size_t(frames) * channels * beams * times, d_random);
                    std::uniform_real_distribution<float> some(0, 2);
                    std::vector<float> scales(size_t(frames) * times / spectra *
                                              d.rows(beams) * d.parts());
                    for (auto& s : scales)
                        s = some(d_random);
                    auto kernel = kernels::power_detector::make(
                        { channels, beams, times, type, d }, d_cpu);
                    for (const auto& s : { scales, std::vector<float>{ 0.125f } }) {
                        const auto expected =
                            powers_of(x.values, d, frames, channels, beams, times, s);
                        std::vector<float> out(expected.size() + 1, -7);
                        kernel->execute(x.bytes.data(),
                                        out.data(),
                                        frames,
                                        { s.data(), s.size() },
                                        *d_stream);
                        check_equal(expected, out, 1e-6);
                    }
                }
    }

    void long_integrations()
    {
        const int channels = 4, beams = 6, times = 21;
        for (const auto& d : all_detections(5 * times, 2)) {
            const voltages x(
                sample_type::fc32, size_t(5) * channels * beams * times, d_random);
            auto kernel = kernels::power_detector::make(
                { channels, beams, times, sample_type::fc32, d }, d_cpu);
            const float scale = 0.01f;
            // the sum of the five integrations of a frame
            const auto each =
                powers_of(x.values, d, 5, channels, beams, times, { scale });
            const size_t item = each.size() / 5;
            std::vector<double> expected(item);
            for (size_t i = 0; i < each.size(); i++)
                expected[i % item] += each[i];
            const size_t frame_size = x.bytes.size() / 5;
            kernel->accumulate(x.bytes.data(), 4, *d_stream);
            kernel->clear(*d_stream); // forgets
            for (int round = 0; round < 2; round++) {
                kernel->accumulate(x.bytes.data(), 2, *d_stream);
                kernel->accumulate(x.bytes.data() + 2 * frame_size, 3, *d_stream);
                std::vector<float> out(item + 1, -7);
                kernel->dump(out.data(), { &scale, 1 }, *d_stream);
                check_equal(expected, out, 1e-6);
            }
        }
    }

    void both_in_one()
    {
        const int frames = 2, channels = 4, inputs = 5, beams = 14, times = 90;
        const auto weights = random_weights(channels * beams * inputs, d_random);
        std::vector<float> gains(beams, 0.5f);
        gains[3] = 2;
        for (const auto& vectors : kernels::host::beam_vectors())
            for (auto type : voltage_types)
                for (const auto& d : all_detections(30, 2)) {
                    const voltages x(
                        type, size_t(frames) * channels * inputs * times, d_random);
                    const auto expected = powers_of(
                        beams_of(
                            x.values, weights, gains, frames, channels, inputs, times),
                        d,
                        frames,
                        channels,
                        beams,
                        times,
                        { 1.f });
                    auto kernel = kernels::host::make<kernels::beam_power>(
                        { channels, inputs, beams, 0, times, type, d }, vectors);
                    kernel->set_weights(weights.data(), *d_stream);
                    kernel->set_gains(gains.data(), *d_stream);
                    std::vector<float> out(expected.size() + 1, -7);
                    const float one = 1;
                    kernel->execute(
                        x.bytes.data(), out.data(), frames, { &one, 1 }, *d_stream);
                    check_equal(expected, out, 2e-5); // 16 bits of the weights
                }
    }

    void incoherent_beams()
    {
        const int frames = 2, channels = 2, inputs = 8, beams = 2, more = 4, times = 50;
        const auto weights = random_weights(channels * beams * inputs, d_random);
        // in pairs, the k-th inputs of two masks are an antenna
        const std::vector<uint8_t> masks{ 1, 0, 1, 0, 0, 0, 1, 0, //
                                          0, 1, 0, 0, 1, 0, 0, 1, //
                                          0, 0, 0, 0, 0, 0, 0, 0, //
                                          0, 0, 0, 0, 0, 0, 0, 0 };
        const int x_of[] = { 0, 2, 6 }, y_of[] = { 1, 4, 7 };
        for (const auto& d : all_detections(25, 1)) {
            const voltages v(
                sample_type::sc8, size_t(frames) * channels * inputs * times, d_random);
            auto kernel = kernels::beam_power::make(
                { channels, inputs, beams, more, times, sample_type::sc8, d }, d_cpu);
            kernel->set_weights(weights.data(), *d_stream);
            kernel->set_masks(masks.data(), *d_stream);
            const int rows = d.rows(beams + more), products = d.product_count();
            std::vector<float> out(4 * rows * products * channels + 1, -7);
            const float one = 1;
            kernel->execute(v.bytes.data(), out.data(), frames, { &one, 1 }, *d_stream);
            CPPUNIT_ASSERT_EQUAL(-7.f, out.back());
            for (int n = 0; n < 4; n++)
                for (int k = 0; k < channels; k++) {
                    auto input = [&](int i) {
                        return &v.values[((n / 2 * channels + k) * inputs + i) * times +
                                         n % 2 * 25];
                    };
                    std::vector<double> expected(2 * products);
                    for (int a = 0; a < 3; a++) {
                        const auto c = coherency(input(x_of[a]), input(y_of[a]), 25);
                        if (!d.of_pairs()) {
                            expected[0] += c[0];
                            expected[1] += c[1];
                        } else {
                            const auto p = products_of(c, d);
                            for (int i = 0; i < products; i++)
                                expected[i] += p[i];
                        }
                    }
                    const float* at =
                        &out[size_t(n * rows + d.rows(beams)) * products * channels + k];
                    for (int i = 0; i < int(expected.size()); i++)
                        CPPUNIT_ASSERT_DOUBLES_EQUAL(
                            expected[i], at[i * channels], 1e-6 * std::abs(expected[0]));
                }
        }
    }

    void errors_name_the_parameter()
    {
        auto says = [](auto make, const char* expected) {
            try {
                make();
                CPPUNIT_FAIL("no error");
            } catch (const std::invalid_argument& e) {
                CPPUNIT_ASSERT_EQUAL(std::string(expected), std::string(e.what()));
            }
        };
        const auto power = detection::product_set::power;
        const auto linear = detection::feeds::linear;
        says(
            [&] {
                kernels::beamformer::make(
                    { 1, 1, 4097, 1, sample_type::sc8, sample_type::fc32 }, d_cpu);
            },
            "beams: 4097 is not allowed; it must be 1 to 4096");
        says(
            [&] {
                kernels::power_detector::make(
                    { 1, 2, 12, sample_type::sc8, { power, linear, 5, 1 } }, d_cpu);
            },
            "spectra: 5 is not allowed; it must be a divisor or a multiple of the 12 "
            "spectra of a frame");
        says([&] { kernels::parse_products("J"); },
             "products: 'J' is not allowed; it must be one of power, I, IQUV, coherency");
        const kernels::beam_power::parameters pair{
            1,
            2,
            2,
            2,
            4,
            sample_type::sc8,
            { detection::product_set::stokes, linear, 4, 1 }
        };
        const uint8_t masks[] = { 1, 1, 1, 0 };
        says([&] { pair.check_masks(masks); },
             "masks: 2 and 1 inputs for the beams of a pair, 0 and 1, is not allowed; it "
             "must be as many for both");
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_beam_kernels);
