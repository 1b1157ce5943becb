/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/f_engine/f_engine.h"
#include "kernels/pfb/prototype.h"
#include <cppunit/extensions/HelperMacros.h>
#include <cmath>
#include <cstring>
#include <random>

using namespace gr::aperture;

namespace {

//! Bytes in memory that a device can read.
class bytes_on
{
public:
    bytes_on(const device& d, stream& s, const std::vector<uint8_t>& bytes)
        : d_stream(s), d_plain(bytes)
    {
        if (d.own_memory()) {
            d_memory = d.allocate(bytes.size());
            s.copy(d_memory.get(), bytes.data(), bytes.size(), direction::host_to_device);
            s.synchronize();
        }
    }
    uint8_t* data()
    {
        return d_memory ? reinterpret_cast<uint8_t*>(d_memory.get()) : d_plain.data();
    }
    const std::vector<uint8_t>& read()
    {
        if (d_memory)
            d_stream.copy(d_plain.data(),
                          d_memory.get(),
                          d_plain.size(),
                          direction::device_to_host);
        d_stream.synchronize();
        return d_plain;
    }

private:
    stream& d_stream;
    std::vector<uint8_t> d_plain;
    memory d_memory;
};

} // namespace

/*!
 * Tests the parts of the filter bank's kernels that blocks do not reach, or not in all
 * ways: packed samples of several inputs, delays, and frames that are written in several
 * calls.
 */
class qa_f_engine_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_f_engine_kernels);
    CPPUNIT_TEST(packed_samples);
    CPPUNIT_TEST(delays);
    CPPUNIT_TEST(blocks_in_pieces);
    CPPUNIT_TEST(parts_of_spectra);
    CPPUNIT_TEST_SUITE_END();

    const device d_cpu = device::select("cpu");
    std::unique_ptr<stream> d_stream = d_cpu.make_stream();
    std::mt19937 d_random{ 1 };

    /*!
     * Compares a part of the channels, of any number of them, of many interleaved inputs
     * with the sums that they are.
     */
    void parts_of_spectra()
    {
        for (const auto& [n, first, kept] : { std::tuple(2, 0, 0),
                                              std::tuple(7, 0, 0),
                                              std::tuple(9, 2, 5),
                                              std::tuple(16, 3, 11),
                                              std::tuple(32, 3, 27) })
            for (const int inputs : { 1, 3, 5, 37, 70 })
                for (const auto type : { sample_type::sc8, sample_type::fc32 }) {
                    const int taps = 3, count = 19; // more than are filtered together
                    kernels::pfb::parameters p{
                        n,     taps,
                        1,     inputs,
                        type,  sample_type::fc32,
                        false, kernels::prototype(n, taps, "hamming")
                    };
                    p.first_kept = first;
                    p.kept = kept;
                    const int channels = p.kept_channels();
                    const size_t samples = size_t(p.span(count)) * size_t(inputs);
                    std::vector<int8_t> bytes(2 * samples);
                    std::vector<cfloat> x(samples);
                    for (size_t i = 0; i < samples; i++) {
                        for (int part = 0; part < 2; part++)
                            bytes[2 * i + part] = int8_t(d_random() % 255 - 127);
                        x[i] = cfloat(bytes[2 * i], bytes[2 * i + 1]);
                    }
                    std::vector<cfloat> gains(size_t(inputs * channels));
                    for (auto& g : gains)
                        g = cfloat(float(d_random() % 1000) / 1000, .3f);
                    std::vector<cfloat> made(size_t(count * inputs * channels), NAN);
                    const auto kernel = kernels::pfb::make(p, d_cpu);
                    kernel->set_gains(gains.data(), *d_stream);
                    const void* from = x.data();
                    if (type == sample_type::sc8)
                        from = bytes.data();
                    const kernels::pfb::source source{ from, 0 };
                    void* const to = made.data();
                    kernel->execute(&source, &to, count, *d_stream);
                    for (int m = 0; m < count; m++)
                        for (int input = 0; input < inputs; input++)
                            for (int k = 0; k < channels; k += 1 + channels / 3) {
                                std::complex<double> sum;
                                for (int j = 0; j < taps * n; j++)
                                    sum +=
                                        double(p.prototype[j]) *
                                        std::complex<double>(
                                            x[size_t((m * n + j) * inputs + input)]) *
                                        std::polar(
                                            1., -2 * M_PI * (first + k - n / 2) * j / n);
                                const auto found =
                                    made[size_t((m * inputs + input) * channels + k)];
                                const auto expected =
                                    sum * std::complex<double>(
                                              gains[size_t(input * channels + k)]);
                                CPPUNIT_ASSERT(
                                    std::abs(std::complex<double>(found) - expected) <
                                    1e-2); // 1e-4 of the rms of samples
                            }
                }
    }

    std::vector<uint8_t> random_bytes(size_t count)
    {
        std::vector<uint8_t> bytes(count);
        for (auto& b : bytes)
            b = uint8_t(d_random());
        return bytes;
    }

    /*!
     * Compares f_engine in calls of odd sizes, with more spectra than are filtered at
     * once, with a filter bank and a corner turn on the CPU. The second port is lost.
     */
    void check_frames(const device& d, sample_type type, sample_type output, bool delayed)
    {
        const int channels = 20, taps = 3, ports = 3, per_port = 2;
        const int times = 75, of_frame = 25;
        const int reach = 60; // samples around those of the spectra
        kernels::f_engine::parameters p{
            { channels, taps, ports, per_port, type, output, true, {} }, of_frame, 3, 11
        };
        const int hop = p.filter.hop();
        p.filter.prototype = kernels::prototype(hop, taps, "hann");
        const auto bytes = [&](int samples) { return bytes_of(type, samples, per_port); };
        std::vector<cfloat> gains(p.inputs() * channels);
        for (auto& g : gains)
            g = cfloat(float(d_random() % 1000) / 1000, .3f);
        std::vector<kernels::delay> delays;
        for (int input = 0; input < p.inputs(); input++)
            delays.push_back({ input * 24 - reach, .1 * input, .01, .3 * input, .02 });

        auto s = d.make_stream();
        auto both = kernels::f_engine::make_composed(p, d, 32);
        auto filter = kernels::pfb::make(p.filter, d_cpu);
        auto turn = kernels::corner_turn::make(p.transposition(), d_cpu);
        both->set_gains(gains.data(), *s);
        filter->set_gains(gains.data(), *d_stream);
        if (delayed) {
            both->set_delays(delays.data(), *s);
            filter->set_delays(delays.data(), *d_stream);
        }
        std::vector<std::vector<uint8_t>> samples, spectra;
        std::vector<bytes_on> on_device;
        std::vector<kernels::pfb::source> from;
        std::vector<void*> to;
        std::vector<const void*> filtered;
        for (int port = 0; port < ports; port++) {
            samples.push_back(random_bytes(bytes((times - 1 + taps) * hop + 2 * reach)));
            if (type == sample_type::fc32) // NaN would spread
                for (auto& b : samples[port])
                    b &= 0x3f;
            spectra.emplace_back(times * channels * per_port * size_of(output));
        }
        for (int port = 0; port < ports; port++) {
            on_device.emplace_back(d, *s, samples[port]);
            from.push_back(
                { port == 1 ? nullptr : samples[port].data() + bytes(reach), 0 });
            to.push_back(spectra[port].data());
            filtered.push_back(spectra[port].data());
        }
        std::vector<uint8_t> expected(11 * p.inputs() * times * size_of(output));
        filter->execute(from.data(), to.data(), times, *d_stream);
        turn->execute(filtered.data(), expected.data(), 0, times, *d_stream);

        const size_t counted = (taps - 1) * hop;
        bytes_on out(d, *s, random_bytes(expected.size()));
        for (auto [first, count] :
             { std::pair(0, 2), std::pair(2, 71), std::pair(73, 2) }) {
            for (int port = 0; port < ports; port++)
                if (port != 1)
                    from[port] = { on_device[port].data() + bytes(reach + first * hop),
                                   first ? counted : 0 };
            const size_t frame_size = expected.size() / times * of_frame;
            both->execute(from.data(),
                          out.data() + first / of_frame * frame_size,
                          first % of_frame,
                          count,
                          *s);
        }
        CPPUNIT_ASSERT(out.read() == expected);
        CPPUNIT_ASSERT(both->clamped().output == filter->clamped().output);
        CPPUNIT_ASSERT(both->clamped().samples == filter->clamped().samples);
        CPPUNIT_ASSERT(type != sample_type::sc8 || filter->clamped().samples[0] > 0);
        CPPUNIT_ASSERT(output != sample_type::sc8 || type != sample_type::s12 ||
                       filter->clamped().output[0] > 0);
    }

public:
    void packed_samples()
    {
        // the same samples in a wider type give the same bits
        for (auto type : { sample_type::s10, sample_type::s12, sample_type::sc4 })
            for (int inputs : { 1, 2, 3, 4 }) {
                const bool four = type == sample_type::sc4;
                const int bits = four ? 4 : bits_of(type), parts = four ? 2 : 1;
                kernels::pfb::parameters p{ 10,    3, 1, inputs, type, sample_type::fc32,
                                            false, {} };
                p.prototype = kernels::prototype(p.hop(), 3, "hann");
                const size_t spectra = 9, samples = (spectra - 1 + 3) * p.hop();
                const size_t item = samples_in_item(type, inputs);
                CPPUNIT_ASSERT_EQUAL(size_t(0), samples * inputs * bits_of(type) % 8);
                CPPUNIT_ASSERT_EQUAL(size_t(0), samples % item);
                std::vector<uint8_t> packed(bytes_of(type, samples, inputs));
                std::vector<int16_t> wide;
                uint64_t lowest = 0;
                for (size_t i = 0; i < samples * inputs; i++) {
                    bool low = false;
                    for (int part = 0; part < parts; part++) {
                        const int range = 1 << bits;
                        const int value = int(d_random() % range) - range / 2;
                        for (int bit = 0; bit < bits; bit++) {
                            const size_t at = (i * parts + part) * bits + bit;
                            const int one = value >> (bits - 1 - bit) & 1;
                            packed[at / 8] |= one << (7 - at % 8);
                        }
                        low = low || (four && value == -8);
                        wide.push_back(int16_t(four ? std::max(value, -7) : value));
                    }
                    lowest += low;
                }
                auto kernel = kernels::pfb::make(p, d_cpu);
                p.input = four ? sample_type::sc16 : sample_type::s16;
                auto reference = kernels::pfb::make(p, d_cpu);
                std::vector<cfloat> out(spectra * inputs * 10, cfloat(7, 7)),
                    expected(out);
                const kernels::pfb::source from{ packed.data(), 0 },
                    from_wide{ wide.data(), 0 };
                void *to = out.data(), *to_expected = expected.data();
                kernel->execute(&from, &to, spectra, *d_stream);
                reference->execute(&from_wide, &to_expected, spectra, *d_stream);
                CPPUNIT_ASSERT(out == expected);
                uint64_t counted = 0;
                for (auto c : kernel->clamped().samples)
                    counted += c;
                CPPUNIT_ASSERT_EQUAL(lowest, counted);
            }
    }

    void delays()
    {
        // A tone of each channel, delayed: the whole response is that of the formula,
        // where the tone lies in the channel's middle. Single precision.
        const int n = 16, taps = 4, inputs = 2, spectra = 7, reach = 40;
        const kernels::delay delays[] = { { 37, .25, .003, 1., -.2 },
                                          { -21, -.4, .0, -2., .1 } };
        for (auto type : { sample_type::fc32, sample_type::f32 })
            for (bool inverted : { false, true })
                for (int k = 0; k < n; k++) {
                    const bool real = type == sample_type::f32;
                    kernels::pfb::parameters p{ n,        taps, 1,
                                                inputs,   type, sample_type::fc32,
                                                inverted, {} };
                    const int hop = p.hop();
                    p.prototype = kernels::prototype(hop, taps, "hann");
                    // cycles per sample at sky frequencies
                    const double sky = double(real ? k : k - n / 2) / hop;
                    const double sampled = !inverted ? sky
                                           : real    ? double(n - 1 - k) / hop
                                                     : -sky;
                    // a real tone near 0 or fs/2 meets its mirror image
                    const int edge =
                        std::min(inverted ? n - 1 - k : k, inverted ? k + 1 : n - k);
                    if (real && edge == 0)
                        continue;
                    const double tolerance = real && edge < 5 ? 3e-3 : 2e-5;
                    const int length = (spectra - 1 + taps) * hop;
                    std::vector<float> x;
                    for (int t = -reach; t < length + reach; t++)
                        for (int i = 0; i < inputs; i++) {
                            x.push_back(float(std::cos(2 * M_PI * sampled * t)));
                            if (!real)
                                x.push_back(float(std::sin(2 * M_PI * sampled * t)));
                        }
                    const float* start = &x[reach * inputs * (real ? 1 : 2)];
                    auto kernel = kernels::pfb::make(p, d_cpu);
                    std::vector<cfloat> gains(inputs * n, cfloat(.5f, 2.f)),
                        plain(spectra * inputs * n), out(plain);
                    kernel->set_gains(gains.data(), *d_stream);
                    const kernels::pfb::source from{ start, 0 };
                    void *to_plain = plain.data(), *to = out.data();
                    kernel->execute(&from, &to_plain, spectra, *d_stream);
                    kernel->set_delays(delays, *d_stream);
                    // in two calls: the delay goes on
                    kernel->execute(&from, &to, 3, *d_stream);
                    const kernels::pfb::source rest{
                        start + 3 * hop * inputs * (real ? 1 : 2), 0
                    };
                    to = &out[3 * inputs * n];
                    kernel->execute(&rest, &to, spectra - 3, *d_stream);
                    for (int m = 0; m < spectra; m++)
                        for (int i = 0; i < inputs; i++) {
                            const auto& d = delays[i];
                            const double length_of_d =
                                d.samples + d.fraction + d.fraction_rate * m;
                            const auto factor = std::polar(1.,
                                                           d.phase + d.phase_rate * m -
                                                               2 * M_PI * (k - n / 2.) /
                                                                   hop * length_of_d);
                            const size_t at = (m * inputs + i) * n + k;
                            CPPUNIT_ASSERT(std::abs(plain[at]) > .5);
                            CPPUNIT_ASSERT(
                                std::abs(std::complex<double>(plain[at]) * factor -
                                         std::complex<double>(out[at])) < tolerance);
                        }
                    kernel->set_delays(nullptr, *d_stream);
                    std::vector<cfloat> again(plain.size());
                    to = again.data();
                    kernel->execute(&from, &to, spectra, *d_stream);
                    CPPUNIT_ASSERT(again == plain);
                }
    }

    void blocks_in_pieces()
    {
        for (const char* name : { "cpu", "emulated" })
            for (auto type : { sample_type::sc8,
                               sample_type::sc4,
                               sample_type::s12,
                               sample_type::fc32 })
                for (auto output : { sample_type::sc8, sample_type::fc32 })
                    for (bool delayed : { false, true })
                        check_frames(device::select(name), type, output, delayed);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_f_engine_kernels);
