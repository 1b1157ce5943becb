/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/planes.h"
#include "kernels/corner_turn/corner_turn.h"
#include "kernels/pfb/pfb.h"
#include "kernels/pfb/prototype.h"
#include "kernels/select/input_select.h"
#include "kernels/select/product_select.h"
#include "kernels/xengine/xengine.h"
#include <cppunit/extensions/HelperMacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>

using namespace gr::aperture;

/*!
 * Compares the kernels by themselves, without GNU Radio, with explicit sums. Tests in
 * Python cover the rest through the blocks: here are all vector widths, sizes around
 * those of tiles, guard bytes, and errors.
 */
class qa_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_kernels);
    CPPUNIT_TEST(xengine_integers_are_exact);
    CPPUNIT_TEST(xengine_extreme_integers);
#ifndef NDEBUG
    CPPUNIT_TEST(lowest_integer_is_noticed);
#endif
    CPPUNIT_TEST(xengine_four_bits_are_exact);
    CPPUNIT_TEST(xengine_floats);
    CPPUNIT_TEST(corner_turn_moves_all);
    CPPUNIT_TEST(corner_turn_finds_each_minimum);
    CPPUNIT_TEST(pfb_equals_the_sum);
    CPPUNIT_TEST(select_picks);
    CPPUNIT_TEST(inputs_are_picked);
    CPPUNIT_TEST(errors_name_the_parameter);
    CPPUNIT_TEST(sample_types_have_names);
    CPPUNIT_TEST_SUITE_END();

    const device d_cpu = device::select("cpu");
    std::unique_ptr<stream> d_stream = d_cpu.make_stream();
    std::mt19937 d_random{ 1 };

    //! Compares xengine with sums in int64.
    //! \param value gives each component
    template <class generator>
    void check_integers(int inputs, int channels, int times, int frames, generator value)
    {
        std::vector<int8_t> x(size_t(frames) * channels * inputs * times * 2);
        for (auto& v : x)
            v = value();
        const kernels::xengine::parameters p{ channels, inputs, times, sample_type::sc8 };
        for (const auto& vectors : kernels::host::implementations<kernels::xengine>()) {
            auto kernel = kernels::host::make<kernels::xengine>(p, vectors);
            // in two calls, with garbage in front of and behind the output
            std::vector<cfloat> out(p.products() * channels + 2, cfloat(777, -777));
            const int half = frames / 2;
            const size_t frame_size = x.size() / frames;
            kernel->accumulate(x.data(), half, *d_stream);
            kernel->accumulate(x.data() + half * frame_size, frames - half, *d_stream);
            const double scale = 0.37;
            kernel->dump(out.data() + 1, &scale, 1, *d_stream);
            CPPUNIT_ASSERT(out.front() == cfloat(777, -777) && out.back() == out.front());
            size_t at = 1;
            for (int c = 0; c < channels; c++)
                for (int a = 0; a < inputs; a++)
                    for (int b = 0; b <= a; b++, at++) {
                        int64_t re = 0, im = 0;
                        for (int k = 0; k < frames; k++)
                            for (int t = 0; t < times; t++) {
                                auto part = [&](int i, int q) {
                                    return int64_t(
                                        x[(((size_t(k) * channels + c) * inputs + i) *
                                               times +
                                           t) *
                                              2 +
                                          q]);
                                };
                                re += part(a, 0) * part(b, 0) + part(a, 1) * part(b, 1);
                                im += part(a, 1) * part(b, 0) - part(a, 0) * part(b, 1);
                            }
                        CPPUNIT_ASSERT(out[at] == cfloat(float(double(re) * scale),
                                                         float(double(im) * scale)));
                    }
            // the sums are zero again
            kernel->dump(out.data() + 1, &scale, 1, *d_stream);
            CPPUNIT_ASSERT(out[1] == cfloat(0, 0));
        }
    }

public:
    void xengine_integers_are_exact()
    {
        std::uniform_int_distribution<int> byte(-127, 127);
        auto value = [&] { return int8_t(byte(d_random)); };
        for (int inputs = 1; inputs <= 20; inputs++)
            check_integers(inputs, 2, 5 + 3 * inputs, 2, value);
        for (int inputs : { 31, 64, 67 })
            check_integers(inputs, 1, 33, 3, value);
        // longer than the stretch that is unpacked at once
        check_integers(3, 1, 2500, 2, value);
    }

    void xengine_four_bits_are_exact()
    {
        // all bytes, so -8 too, which is read as -7: the same sums as with sc8
        for (int inputs : { 1, 2, 3, 7, 16, 33 }) {
            const int channels = 2, times = 1100 + inputs, frames = 2;
            std::vector<int8_t> x(size_t(frames) * channels * inputs * times), wide;
            for (size_t i = 0; i < x.size(); i++) {
                const int both = i < 256 ? i : d_random() & 255;
                const int re = both >> 4, im = both & 15;
                wide.push_back(int8_t(std::max(re < 8 ? re : re - 16, -7)));
                wide.push_back(int8_t(std::max(im < 8 ? im : im - 16, -7)));
                x[i] = int8_t(both);
            }
            kernels::xengine::parameters p{ channels, inputs, times, sample_type::sc8 };
            const double scale = 1;
            for (const auto& vectors :
                 kernels::host::implementations<kernels::xengine>()) {
                std::vector<cfloat> expected(p.products() * channels),
                    out(expected.size() + 1, cfloat(777, -777));
                p.type = sample_type::sc8;
                auto eight = kernels::host::make<kernels::xengine>(p, vectors);
                eight->accumulate(wide.data(), frames, *d_stream);
                eight->dump(expected.data(), &scale, 1, *d_stream);
                p.type = sample_type::sc4;
                auto four = kernels::host::make<kernels::xengine>(p, vectors);
                four->accumulate(x.data(), frames, *d_stream);
                four->dump(out.data(), &scale, 1, *d_stream);
                CPPUNIT_ASSERT(out.back() == cfloat(777, -777));
                out.pop_back();
                CPPUNIT_ASSERT(out == expected);
            }
        }
    }

    void xengine_extreme_integers()
    {
        check_integers(5, 1, 9000, 2, [] { return int8_t(-127); });
        int n = 0;
        check_integers(4, 1, 3001, 2, [&] { return int8_t(n++ % 2 ? 127 : -127); });
    }

    void xengine_floats()
    {
        // sums of 1024 in single precision, spread over at least 4 partial ones: their
        // rounding is far below 1e-6 of the power
        std::normal_distribution<float> noise;
        const int channels = 3, inputs = 7, times = 1500;
        std::vector<cfloat> x(size_t(channels) * inputs * times);
        for (auto& v : x)
            v = cfloat(noise(d_random), noise(d_random));
        const kernels::xengine::parameters p{
            channels, inputs, times, sample_type::fc32
        };
        for (const auto& vectors : kernels::host::implementations<kernels::xengine>()) {
            auto kernel = kernels::host::make<kernels::xengine>(p, vectors);
            std::vector<cfloat> out(p.products() * channels, cfloat(777, 777));
            kernel->accumulate(x.data(), 1, *d_stream);
            std::vector<double> scales;
            for (int i = 0; i < p.products(); i++)
                scales.push_back(1. / (1000 + i));
            kernel->dump(out.data(), scales.data(), scales.size(), *d_stream);
            size_t at = 0;
            for (int c = 0; c < channels; c++)
                for (int a = 0; a < inputs; a++)
                    for (int b = 0; b <= a; b++, at++) {
                        std::complex<double> sum = 0;
                        for (int t = 0; t < times; t++)
                            sum += std::complex<double>(x[(c * inputs + a) * times + t]) *
                                   std::conj(std::complex<double>(
                                       x[(c * inputs + b) * times + t]));
                        sum *= scales[at % p.products()];
                        CPPUNIT_ASSERT(std::abs(sum - std::complex<double>(out[at])) <
                                       1e-6 * 2 * times / 1000.);
                    }
        }
    }

    //! A debug build ends where X-engine or beamformer are given -128.
    void lowest_integer_is_noticed()
    {
        const auto ends = [](auto run) {
            const pid_t child = fork();
            if (child == 0) {
                if (!std::freopen("/dev/null", "w", stderr))
                    _exit(1);
                run();
                _exit(0);
            }
            int status = 0;
            waitpid(child, &status, 0);
            return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
        };
        for (const int8_t least : { -127, -128 }) {
            const bool noticed = least == -128;
            const std::vector<int8_t> voltages{ 1, 127, least, 3 };
            int32_t pairs[2];
            float re[2], im[2];
            CPPUNIT_ASSERT_EQUAL(noticed, ends([&] {
                                     auto kernel = kernels::xengine::make(
                                         { 1, 1, 2, sample_type::sc8 }, d_cpu);
                                     kernel->accumulate(voltages.data(), 1, *d_stream);
                                 }));
            CPPUNIT_ASSERT_EQUAL(noticed, ends([&] {
                                     kernels::host::unpack_pairs(
                                         sample_type::sc8, voltages.data(), 2, pairs);
                                 }));
            CPPUNIT_ASSERT_EQUAL(noticed, ends([&] {
                                     kernels::host::unpack_planes(
                                         sample_type::sc8, voltages.data(), 2, re, im);
                                 }));
        }
    }

    void corner_turn_moves_all()
    {
        // two bytes of all values, -128 among them
        constexpr int times = 17, frames = 4;
        for (int selected : { 1, 31, 33, 70 }) {
            const kernels::corner_turn::parameters p{
                75, 3, 2, times, sample_type::sc8, 5, selected
            };
            auto kernel = kernels::corner_turn::make(p, d_cpu);
            CPPUNIT_ASSERT(!kernel->implementation().empty());
            std::vector<std::vector<int8_t>> in(3);
            std::vector<const void*> ports;
            std::uniform_int_distribution<int> byte(-128, 127);
            for (auto& port : in) {
                port.resize(size_t(frames) * times * 2 * 75 * 2);
                for (auto& v : port)
                    v = int8_t(byte(d_random));
                ports.push_back(port.data());
            }
            ports[1] = nullptr;
            const size_t frame_size = size_t(selected) * 6 * times * 2;
            std::vector<int8_t> out(frames * frame_size + 4, 99);
            // within a frame, to its end, over two whole ones into the next
            for (auto [first, count] : { std::pair(0, 6),
                                         std::pair(6, 10),
                                         std::pair(16, 1 + 2 * times + 5),
                                         std::pair(3 * times + 5, 12) }) {
                std::vector<const void*> from(ports);
                for (auto& f : from)
                    if (f)
                        f = static_cast<const int8_t*>(f) + size_t(first) * 2 * 75 * 2;
                kernel->execute(from.data(),
                                out.data() + 2 + first / times * frame_size,
                                first % times,
                                count,
                                *d_stream);
            }
            CPPUNIT_ASSERT(out[1] == 99 && out[out.size() - 2] == 99);
            std::vector<uint64_t> clamped(6);
            size_t at = 2;
            for (int row = 0; row < frames * selected * 6; row++)
                for (int t = 0; t < times; t++) {
                    const int input = row % 6, c = row / 6 % selected;
                    const int spectrum = row / 6 / selected * times + t;
                    bool minimum = false;
                    for (int part = 0; part < 2; part++, at++) {
                        int expected = 0;
                        if (input / 2 != 1)
                            expected =
                                in[input / 2]
                                  [((spectrum * 2 + input % 2) * 75 + 5 + c) * 2 + part];
                        minimum = minimum || expected == -128;
                        CPPUNIT_ASSERT_EQUAL(std::max(expected, -127), int(out[at]));
                    }
                    clamped[input] += minimum;
                }
            CPPUNIT_ASSERT(clamped == kernel->clamped());
        }
    }

    void corner_turn_finds_each_minimum()
    {
        // one -128 among others, at each place of a few vectors
        const int channels = 38, times = 21;
        const kernels::corner_turn::parameters p{ channels,         1, 1,       times,
                                                  sample_type::sc8, 0, channels };
        auto kernel = kernels::corner_turn::make(p, d_cpu);
        uint64_t counted = 0;
        for (int at = 0; at < channels * times * 2; at++) {
            std::vector<int8_t> in(channels * times * 2, -127), out(in.size());
            in[at] = -128;
            const void* from = in.data();
            kernel->execute(&from, out.data(), 0, times, *d_stream);
            CPPUNIT_ASSERT(out == std::vector<int8_t>(in.size(), -127));
            CPPUNIT_ASSERT_EQUAL(++counted, kernel->clamped()[0]);
        }
    }

    void pfb_equals_the_sum()
    {
        // fp32 of 8 x 12 products and a short FFT: errors near 1e-7 of the rms
        kernels::pfb::parameters p{ 12,
                                    8,
                                    2,
                                    3,
                                    sample_type::sc16,
                                    sample_type::fc32,
                                    true,
                                    kernels::prototype(12, 8, "hamming") };
        auto kernel = kernels::pfb::make(p, d_cpu);
        const int spectra = 11, length = (spectra - 1 + 8) * 12;
        std::uniform_int_distribution<int> value(-300, 300);
        std::vector<int16_t> x(length * 3 * 2);
        for (auto& v : x)
            v = int16_t(value(d_random));
        std::vector<cfloat> gains(6 * 12);
        for (auto& g : gains)
            g = cfloat(value(d_random), value(d_random)) / 300.f;
        kernel->set_gains(gains.data(), *d_stream);
        std::vector<std::vector<cfloat>> out(
            2, std::vector<cfloat>(spectra * 3 * 12 + 1, cfloat(7, 7)));
        const kernels::pfb::source sources[] = { { x.data(), 0 }, { nullptr, 0 } };
        void* const to[] = { out[0].data(), out[1].data() };
        kernel->execute(sources, to, spectra, *d_stream);
        CPPUNIT_ASSERT(out[0].back() == cfloat(7, 7) && out[1].back() == cfloat(7, 7));
        for (int m = 0; m < spectra; m++)
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 12; k++) {
                    std::complex<double> y = 0;
                    for (int j = 0; j < 96; j++) {
                        const int16_t* s = &x[((m * 12 + j) * 3 + i) * 2];
                        // inverted: conjugated
                        y += double(p.prototype[j]) * std::complex<double>(s[0], -s[1]) *
                             std::polar(1., -2 * M_PI * (k - 6) * j / 12);
                    }
                    y *= std::complex<double>(gains[i * 12 + k]);
                    const size_t at = (m * 3 + i) * 12 + k;
                    CPPUNIT_ASSERT(std::abs(y - std::complex<double>(out[0][at])) < 1e-3);
                    CPPUNIT_ASSERT(out[1][at] == cfloat(0, 0));
                }
    }

    void select_picks()
    {
        auto kernel = kernels::product_select::make(
            { 2, 3, { { 2, 1 }, { 0, 2 }, { 1, 1 } } }, d_cpu);
        std::vector<cfloat> v;
        for (int i = 0; i < 2 * 2 * 6; i++)
            v.emplace_back(i, 100 + i);
        std::vector<std::vector<cfloat>> out(3, std::vector<cfloat>(4));
        cfloat* const to[] = { out[0].data(), out[1].data(), out[2].data() };
        kernel->execute(v.data(), to, 2, *d_stream);
        for (int row = 0; row < 4; row++) {
            CPPUNIT_ASSERT(out[0][row] == v[row * 6 + 4]);
            CPPUNIT_ASSERT(out[1][row] == std::conj(v[row * 6 + 3]));
            CPPUNIT_ASSERT(out[2][row] == v[row * 6 + 2]);
        }
    }

    void inputs_are_picked()
    {
        // runs of neighbours, an order of its own, and an odd number of bytes
        const kernels::input_select::parameters p{ 3, 5, 7, { 1, 2, 4, 0 } };
        auto kernel = kernels::input_select::make(p, d_cpu);
        std::vector<uint8_t> in(2 * 3 * 5 * 7);
        for (size_t i = 0; i < in.size(); i++)
            in[i] = uint8_t(i * 37 + i / 251);
        std::vector<uint8_t> out(2 * 3 * 4 * 7 + 1, 0xaa);
        kernel->execute(in.data(), out.data(), 2, *d_stream);
        for (int row = 0; row < 6; row++)
            for (int i = 0; i < 4; i++)
                for (int byte = 0; byte < 7; byte++)
                    CPPUNIT_ASSERT_EQUAL(int(in[(row * 5 + p.selected[i]) * 7 + byte]),
                                         int(out[(row * 4 + i) * 7 + byte]));
        CPPUNIT_ASSERT_EQUAL(0xaa, int(out.back()));
    }

    void errors_name_the_parameter()
    {
        auto message = [](auto make) -> std::string {
            try {
                make();
            } catch (const std::invalid_argument& e) {
                return e.what();
            }
            return "no error";
        };
        auto says = [&](auto make, const char* expected) {
            CPPUNIT_ASSERT_EQUAL(std::string(expected), message(make));
        };
        says([] { device::select("gpu"); },
             "device: 'gpu' is not known; allowed: auto, cpu, cuda, cuda:N");
        says([] { kernels::prototype(8, 65, "hann"); },
             "taps: 65 is not allowed; it must be 1 to 64");
        says([] { kernels::prototype(8, 4, "kaiser(x)"); },
             "window: 'kaiser(x)' is not allowed; it must be hann, hamming, blackman, "
             "rect "
             "or kaiser(beta), beta from 0 to 100");
        says(
            [&] {
                kernels::xengine::make({ 4, 0, 16, sample_type::sc8 }, d_cpu);
            },
            "inputs: 0 is not allowed; it must be 1 to 65536");
        says(
            [&] {
                kernels::product_select::make({ 4, 2, { { 0, 2 } } }, d_cpu);
            },
            "products: (0, 2) is not allowed; it must be of inputs 0 to 1");
        says(
            [] {
                item_size("frame", { { "channels", 65536 }, { "inputs", 65536 } }, 2);
            },
            "frame: 65536 channels x 65536 inputs x 2 bytes is not allowed; it must be "
            "at most 2147483647 bytes an item: at most 16383 channels of this size");
        says(
            [] {
                item_size("visibilities",
                          { { "channels", 32 }, { "products", 4096 * 4097 / 2 } },
                          8);
            },
            "visibilities: 32 channels x 8390656 products x 8 bytes is not allowed; it "
            "must be at most 2147483647 bytes an item: at most 31 channels of this size");
        says( // more than 64 bits can count
            [] {
                item_size(
                    "frame",
                    { { "channels", int64_t(1) << 40 }, { "inputs", int64_t(1) << 40 } },
                    2);
            },
            "frame: 1099511627776 channels x 1099511627776 inputs x 2 bytes is not "
            "allowed; it must be at most 2147483647 bytes an item");
        says([] { parse_sample_type("type", "sc12"); },
             "type: 'sc12' is not allowed; it must be one of fc32, sc16, sc8, sc4, f32, "
             "s16, s12, s10, s8");
        says([] { parse_sample_type("type", "s8", { sample_type::sc8 }); },
             "type: 's8' is not allowed; it must be one of sc8");
    }

    void sample_types_have_names()
    {
        using type = sample_type;
        for (auto t : { type::fc32,
                        type::sc16,
                        type::sc8,
                        type::sc4,
                        type::f32,
                        type::s16,
                        type::s12,
                        type::s10,
                        type::s8 })
            CPPUNIT_ASSERT(parse_sample_type("type", name_of(t)) == t);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_kernels);
