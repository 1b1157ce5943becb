/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the X-engines on the GPU with the host's, which give the same bits for sc8 and
 * sc4 voltages, and with sums in double precision for fc32. Needs no GNU Radio. See
 * --help for the arguments.
 */

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/xengine/xengine.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>
#include <algorithm>
#include <cmath>
#include <complex>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

chosen_numbers chosen_inputs;

enum class pattern { random, lowest, highest, alternating };

//! Makes bytes of sc8 or sc4; in sc4 -8 occurs, too, and is read as -7.
std::vector<int8_t> voltages_of(const xengine::parameters& p, int frames, pattern kind)
{
    const bool sc4 = p.type == sample_type::sc4;
    const int most = sc4 ? 7 : 127, least = sc4 ? -8 : -127;
    const auto number = [&](size_t i) {
        switch (kind) {
        case pattern::lowest:
            return least;
        case pattern::highest:
            return most;
        case pattern::alternating:
            return i % 3 ? most : least;
        default:
            return least + int(random_bits() % (most - least + 1));
        }
    };
    std::vector<int8_t> v(size_t(frames) * p.channels * p.inputs * p.spectra_per_frame *
                          size_of(p.type));
    for (size_t i = 0; i < v.size(); i++)
        v[i] = sc4 ? int8_t(number(2 * i) * 16 | (number(2 * i + 1) & 15))
                   : int8_t(number(i));
    return v;
}

void check_xengine(xengine::parameters p, int frames, pattern kind, size_t shift = 0)
{
    if (!chosen_inputs.wants(p.inputs))
        return;
    const size_t visibilities = p.products() * p.channels;
    host_stream on_host;
    const auto host = host::make<xengine>(p, host::implementations<xengine>().front());
    std::vector<double> scales(p.products());
    for (auto& scale : scales)
        scale = 1. / (1 + random_bits() % 1000);

    const auto first = voltages_of(p, frames, kind);
    const auto second = voltages_of(p, frames, kind);
    std::vector<cfloat> expected(visibilities), expected_first(visibilities);
    host->accumulate(first.data(), frames, on_host);
    host->dump(expected_first.data(), scales.data(), 1, on_host);
    host->accumulate(first.data(), frames, on_host);
    host->accumulate(second.data(), frames, on_host);
    host->dump(expected.data(), scales.data(), scales.size(), on_host);

    const guarded gpu_first(first, shift), gpu_second(second, shift);
    for (const auto& name : cuda::implementations<xengine>(p, 0)) {
        const auto what =
            name + ", " + name_of(p.type) + ", " + std::to_string(p.inputs) +
            " inputs, " + std::to_string(p.channels) + " channels, " +
            std::to_string(p.spectra_per_frame) + " times, " + std::to_string(frames) +
            " frames, pattern " + std::to_string(int(kind));
        const auto own_stream = device::select("cuda").make_stream();
        stream& s = *own_stream;
        const auto kernel = cuda::make<xengine>(p, 0, name);
        // one that needs less takes nothing away from one that needs more
        auto less = p;
        less.inputs = (p.inputs + 1) / 2;
        const auto names = cuda::implementations<xengine>(less, 0);
        const auto other = std::find(names.begin(), names.end(), name) != names.end()
                               ? cuda::make<xengine>(less, 0, name)
                               : nullptr;
        const guarded out(visibilities * sizeof(cfloat));
        auto* to = static_cast<cfloat*>(out.data());
        kernel->accumulate(gpu_second.data(), frames, s);
        kernel->clear(s);
        kernel->accumulate(gpu_first.data(), frames, s);
        kernel->dump(to, scales.data(), 1, s);
        s.synchronize();
        expect(same_bits(out.values<cfloat>(), expected_first), what);
        kernel->accumulate(gpu_first.data(), frames, s);
        kernel->accumulate(gpu_second.data(), frames, s);
        kernel->dump(to, scales.data(), scales.size(), s);
        s.synchronize();
        expect(same_bits(out.values<cfloat>(), expected), what + ", second dump");
        expect(out.untouched_around(), what + ", guards");
    }
}

std::map<std::string, double> worst_real_error, worst_steady_error;

/*!
 * Compares with sums in double precision, relative to the sum of absolute values: for
 * noise the error is at most 1e-6, for any voltages 1e-5 (real_xengine.h). The same
 * voltages give the same bits, and the imaginary part of a product with itself is 0.
 */
void check_real_xengine(int inputs,
                        int channels,
                        int times,
                        int frames,
                        bool steady = false,
                        size_t shift = 0)
{
    if (!chosen_inputs.wants(inputs))
        return;
    const xengine::parameters p{ channels, inputs, times, sample_type::fc32 };
    std::normal_distribution<float> normal;
    std::vector<cfloat> v(size_t(frames) * channels * inputs * times);
    for (auto& x : v) // steady: every product errs to the same side
        x = steady ? cfloat(1.2345678f, .98765432f)
                   : cfloat(normal(random_bits), normal(random_bits));
    std::vector<std::complex<double>> sums(p.products() * channels);
    std::vector<double> sizes(sums.size());
    for (int c = 0; c < channels; c++)
        for (int a = 0; a < inputs; a++)
            for (int b = 0; b <= a; b++) {
                const size_t product = c * p.products() + a * (a + 1) / 2 + b;
                for (int frame = 0; frame < frames; frame++) {
                    const size_t row = (size_t(frame) * channels + c) * inputs;
                    const cfloat* x = &v[(row + a) * times];
                    const cfloat* y = &v[(row + b) * times];
                    double re = 0, im = 0, size = 0;
                    for (int t = 0; t < times; t++) {
                        const double xr = x[t].real(), xi = x[t].imag();
                        const double yr = y[t].real(), yi = y[t].imag();
                        re += xr * yr + xi * yi;
                        im += xi * yr - xr * yi;
                        size += std::sqrt((xr * xr + xi * xi) * (yr * yr + yi * yi));
                    }
                    sums[product] += std::complex<double>(re, im);
                    sizes[product] += size;
                }
            }

    const guarded in(v, shift);
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    for (const auto& name : cuda::implementations<xengine>(p, 0)) {
        const auto what = name + " X-engine, " + std::to_string(inputs) + " inputs, " +
                          std::to_string(channels) + " channels, " +
                          std::to_string(times) + " times, " + std::to_string(frames) +
                          " frames";
        const guarded out(sums.size() * sizeof(cfloat));
        const auto kernel = cuda::make<xengine>(p, 0, name);
        const auto integrate = [&](int calls) {
            const double scale = 1. / calls;
            for (int i = 0; i < calls; i++)
                kernel->accumulate(in.data(), frames, s);
            kernel->dump(static_cast<cfloat*>(out.data()), &scale, 1, s);
            s.synchronize();
            return out.values<cfloat>();
        };
        auto& most = steady ? worst_steady_error : worst_real_error;
        const auto error_of = [&](const std::vector<cfloat>& got) {
            double worst = 0;
            for (size_t i = 0; i < got.size(); i++) {
                const auto difference = std::complex<double>(got[i]) - sums[i];
                const double error = std::abs(difference) / sizes[i];
                worst = error <= worst ? worst : error; // NaN is the worst
            }
            most[name] = std::max(most[name], worst);
            return worst;
        };
        const auto got = integrate(1);
        bool real = true;
        for (int c = 0; c < channels; c++)
            for (int a = 0; a < inputs; a++)
                real &= got[c * p.products() + a * (a + 1) / 2 + a].imag() == 0;
        for (int calls : { 2, 1 }) {
            const auto again = integrate(calls);
            const double error = error_of(again);
            expect(error < (steady ? 1e-5 : 1e-6),
                   what + ": error " + std::to_string(1e6 * error) + "e-6");
            expect(calls > 1 || same_bits(again, got), what + ", again");
        }
        expect(real, what + ", products with themselves");
        expect(same_bits(integrate(2), got), what + ", twice");
        expect(out.untouched_around(), what + ", guards");
    }
}

void check_real_xengines(bool quick)
{
    if (quick) {
        std::set<int> sizes{ 1, 3, 8, 13, 24, 30, 40, 47, 60, 65, 130 };
        chosen_inputs.add_to(sizes);
        for (int n : sizes)
            check_real_xengine(n, 3, n % 2 ? 131 : 130, 2);
        check_real_xengine(70, 1, 4001, 2);
        check_real_xengine(9, 2, 4001, 2);
    } else {
        std::set<int> sizes;
        for (int n = 1; n <= 130; n++)
            sizes.insert(n);
        chosen_inputs.add_to(sizes);
        for (int n : sizes)
            check_real_xengine(n, 2, n % 2 ? 131 : 257, 2);
        for (int n : { 192, 200, 257, 350 })
            check_real_xengine(n, 2, 70, 3);
        for (int n : { 700, 1023, 1024 })
            check_real_xengine(n, 1, 33, 1);
        for (int n : { 2, 5, 10, 20, 31, 33, 48, 64, 66, 100 })
            for (int times : { 1, 3, 17, 64, 2049 })
                check_real_xengine(n, 5, times, 3);
        for (int n : { 3, 14, 32, 40, 48, 64, 72 }) // long ones, and splits of the time
            check_real_xengine(n, 1, 12000, 3);
        for (int n : { 2, 16, 70 }) // more thread blocks than there is room for
            check_real_xengine(n, 500, 20, 1);
    }
    for (int n : { 2, 16, 48, 70 }) {
        check_real_xengine(n, 2, 4096, 2, true);
        check_real_xengine(n, 2, 96, 2, false, 8); // rows that are not aligned
    }
    for (const auto& [name, error] : worst_real_error)
        std::printf("%s X-engine: error at most %.2g for noise, %.2g\n",
                    name.c_str(),
                    error,
                    worst_steady_error[name]);
}

void check_integer_xengines(sample_type type, bool quick)
{
    std::set<int> sizes{ 1,  2,  3,  4,   7,   8,   9,   16,  33,  48,  64,
                         65, 96, 97, 130, 161, 200, 230, 256, 257, 300, 350 };
    if (!quick) {
        for (int n = 2; n <= 130; n++)
            sizes.insert(n);
        for (int n : { 132, 143, 144, 145, 159, 160, 176, 177, 191,  192,  193, 199, 208,
                       209, 224, 225, 240, 241, 255, 272, 288, 289,  319,  320, 321, 336,
                       384, 385, 449, 511, 512, 513, 700, 769, 1000, 1023, 1024 })
            sizes.insert(n);
    }
    chosen_inputs.add_to(sizes);
    for (int n : sizes)
        check_xengine({ n > 300 ? 2 : 5, n, n % 2 ? 48 : 112, type },
                      n > 300 ? 1 : 2,
                      pattern::random);
    for (int n : { 2, 5, 16, 64, 70, 200 })
        check_xengine({ 9, n, 16, type }, 3, pattern::random, 16);
    for (int n : { 3, 10, 20, 40, 72 })
        check_xengine({ 3, n, 656, type }, 5, pattern::random);
    if (quick)
        return;
    // splits over time, and sums at the limits of int32 and beyond
    for (auto kind : { pattern::lowest, pattern::highest, pattern::alternating }) {
        check_xengine({ 1, 4, 5008 * 16, type }, 2, kind);
        check_xengine({ 2, 17, 65536, type }, 1, kind);
        check_xengine({ 1, 64, 5000 * 16, type }, 1, kind);
        check_xengine({ 1, 129, 65536, type }, 2, kind);
        check_xengine({ 1, 290, 8192, type }, 1, kind);
    }
    for (int n : { 2, 16, 64, 128, 200, 260 })
        check_xengine({ 3, n, 1040, type }, 16, pattern::random);
    // the last channels' time is split more than that of the others
    for (int n : { 140, 200 })
        check_xengine({ 24, n, 656, type }, 16, pattern::random);
    // the last ones' time is split, too, when all thread blocks have had as many
    check_xengine({ 140, 66, 176, type }, 16, pattern::random);
    check_xengine({ 70, 200, 176, type }, 16, pattern::random);
    // more work tiles than thread blocks, which take some each
    for (int n : { 128, 256 })
        check_xengine({ 300, n, 64, type }, 1, pattern::random);
    // the largest arrays, and one that fills no tile
    for (int n : { 2047, 2048, 4096 })
        check_xengine({ n > 2048 ? 1 : 2, n, 32, type }, 1, pattern::random);
}

void check_xengines(bool quick)
{
    for (auto type : { sample_type::sc8, sample_type::sc4 })
        check_integer_xengines(type, quick);
    check_real_xengines(quick);
    if (quick)
        return;
    bool refused = false;
    try {
        cuda::make<xengine>({ 1, 4, 24, sample_type::sc8 }, 0);
    } catch (const std::invalid_argument& e) {
        refused = std::string(e.what()).find("spectra_per_frame: 24") == 0;
    }
    expect(refused, "24 spectra in a frame are refused");
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(
        argc,
        argv,
        "check_xengine: the X-engines of a GPU against the host's",
        { { "xengine", "", check_xengines },
          { "sc8",
            "xengine",
            [](bool quick) { check_integer_xengines(sample_type::sc8, quick); } },
          { "sc4",
            "xengine",
            [](bool quick) { check_integer_xengines(sample_type::sc4, quick); } },
          { "real_xengine", "xengine", check_real_xengines } },
        { { "inputs", &chosen_inputs } });
}
