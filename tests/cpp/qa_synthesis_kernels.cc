/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/prototype.h"
#include "kernels/synthesis/synthesis_prototype.h"
#include "kernels/synthesis/synthesizer.h"
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

/*!
 * Tests the prototype, the places of outputs, and the host's kernel by its formula in
 * double precision. Python's tests compare signals through the block.
 */
class qa_synthesis_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_synthesis_kernels);
    CPPUNIT_TEST(prototype_reconstructs);
    CPPUNIT_TEST(prototype_of_another_grid);
    CPPUNIT_TEST(places_are_exact);
    CPPUNIT_TEST(filter_passes_and_stops);
    CPPUNIT_TEST(sums_by_the_formula);
    CPPUNIT_TEST_SUITE_END();

    const device d_cpu = device::select("cpu");
    std::unique_ptr<stream> d_stream = d_cpu.make_stream();
    std::mt19937 d_random{ 1 };

    static analysis_bank bank_of(int taps, int length, int points, int p, int q)
    {
        return { resampled_prototype(
                     prototype(length, taps, "hann"), taps, length, points),
                 points,
                 taps,
                 points * q / p };
    }

    void prototype_reconstructs()
    {
        CPPUNIT_ASSERT(design_synthesis(bank_of(24, 32, 32, 32, 27), 24).error < -80);
        CPPUNIT_ASSERT(design_synthesis(bank_of(24, 32, 32, 32, 27), 28).error < -100);
        CPPUNIT_ASSERT(design_synthesis(bank_of(8, 12, 12, 4, 3), 12).error < -100);
        // critically sampled channels lose what lies between them
        const double critical = design_synthesis(bank_of(8, 32, 32, 1, 1), 16).error;
        CPPUNIT_ASSERT(critical > -24 && critical < -20);
    }

    void prototype_of_another_grid()
    {
        const auto fine = bank_of(8, 96, 96, 4, 3), coarse = bank_of(8, 96, 32, 4, 3);
        // every third coefficient, whose sum of squares is 1 again
        for (size_t i = 0; i < coarse.prototype.size(); i++)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(
                std::sqrt(3.) * fine.prototype[3 * i], coarse.prototype[i], 1e-5);
        CPPUNIT_ASSERT(design_synthesis(coarse, 12).error < -100);
    }

    void places_are_exact()
    {
        auto places = output_places::at_rates(107e6, 64e6, -7, 0.625);
        CPPUNIT_ASSERT(places.step == 107 && places.steps == 64);
        // after 10^15 outputs the place is as exact as for the first one
        for (const int64_t q : { int64_t(0), int64_t(63), int64_t(1000000000000001) }) {
            const auto found = places.from(q).of(0);
            const int64_t eighths = 8 * (q * 107 % 64) + 8 * 64 * 5 / 8;
            CPPUNIT_ASSERT_EQUAL(-7 + q / 64 * 107 + q % 64 * 107 / 64 +
                                     ((q % 64 * 107) % 64 * 8 + 320 >= 512),
                                 found.sample);
            CPPUNIT_ASSERT_DOUBLES_EQUAL((eighths % 512) / 512., found.fraction, 1e-15);
            CPPUNIT_ASSERT_EQUAL(found.sample, places.from(q - 5).of(5).sample);
        }
        for (const double rate : { 64e6, 1.234567e6, 5e8 }) {
            places = output_places::at_rates(107e6, rate, 12, 0.9);
            for (const int64_t sample : { -1000, 0, 12, 13, 99999 }) {
                const int64_t q = places.first_from(sample);
                CPPUNIT_ASSERT(places.from(q).of(0).sample >= sample);
                CPPUNIT_ASSERT(places.from(q - 1).of(0).sample < sample);
            }
        }
    }

    void filter_passes_and_stops()
    {
        const auto filter = fractional_filter::of(0.2, 0.26, 3);
        // the response at any fraction, by the interpolated coefficients
        for (const double fraction : { 0., 0.3, 0.5017, 0.999 })
            for (const double frequency : { 0., 0.1, 0.2, 0.26, 0.35, 0.5 }) {
                const double phase = fraction * fractional_filter::phases;
                const int row = int(phase);
                std::complex<double> sum;
                for (int tap = 0; tap < filter.taps; tap++) {
                    const float* c = &filter.rows[size_t(row) * filter.taps + tap];
                    const double factor = c[0] + (phase - row) * (c[filter.taps] - c[0]);
                    sum += std::polar(factor,
                                      2 * M_PI * frequency *
                                          (tap - filter.taps / 2 + 1 - fraction));
                }
                CPPUNIT_ASSERT_DOUBLES_EQUAL(
                    frequency <= 0.2 ? 3 : 0, std::abs(sum), 3e-4 * 3);
                if (frequency <= 0.2)
                    CPPUNIT_ASSERT_DOUBLES_EQUAL(0, std::arg(sum), 1e-4);
            }
    }

    void sums_by_the_formula()
    {
        synthesizer::parameters p;
        p.channels = 5;
        p.beams = 2;
        p.spectra_per_frame = 11;
        p.points = 8;
        p.hop = 6;
        p.lead = 9;
        std::normal_distribution<float> normal;
        p.prototype.resize(37);
        for (auto& c : p.prototype)
            c = normal(d_random);
        p.most_spectra = 11;
        const auto kernel = synthesizer::make(p, d_cpu);
        std::vector<cfloat> frame(size_t(p.channels) * p.beams * p.spectra_per_frame);
        for (auto& y : frame)
            y = { normal(d_random), normal(d_random) };
        const int64_t spectrum = 1003;
        const synthesizer::mixing m{ 0.2, 0.07, 5 };
        const int count = 9;
        kernel->add(frame.data(), 1, count, spectrum, m, 0, *d_stream);
        const int samples = count * p.hop;
        std::vector<cfloat> out(size_t(samples) * p.beams + 8, cfloat(99, 99));
        kernel->write(out.data() + 4, samples, {}, 0, { { 1, 3, 5 } }, *d_stream);
        for (int i = 0; i < 4; i++)
            CPPUNIT_ASSERT(out[i] == cfloat(99, 99) &&
                           out[out.size() - 1 - i] == cfloat(99, 99));
        const int64_t first = spectrum * p.hop - p.lead;
        for (int i = 0; i < samples; i++)
            for (int beam = 0; beam < p.beams; beam++) {
                std::complex<double> sum;
                for (int t = 0; t < count; t++) {
                    const int64_t at = first + i - (spectrum + t) * p.hop + p.lead;
                    if (at < 0 || at >= int64_t(p.prototype.size()))
                        continue;
                    for (int k = 0; k < p.channels; k++) {
                        const auto y =
                            frame[(size_t(k) * p.beams + beam) * p.spectra_per_frame + 1 +
                                  t];
                        sum += double(p.prototype[at]) * std::complex<double>(y) *
                               std::polar(1.,
                                          2 * M_PI * (k - 2) *
                                              double((first + i) % p.points) / p.points);
                    }
                }
                sum *= std::polar(1., 2 * M_PI * (0.2 + 0.07 * (5 + i)));
                if (beam == 1 && i >= 3 && i < 5)
                    sum = 0;
                const auto found = out[4 + size_t(i) * p.beams + beam];
                CPPUNIT_ASSERT_DOUBLES_EQUAL(sum.real(), found.real(), 3e-5);
                CPPUNIT_ASSERT_DOUBLES_EQUAL(sum.imag(), found.imag(), 3e-5);
            }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_synthesis_kernels);
