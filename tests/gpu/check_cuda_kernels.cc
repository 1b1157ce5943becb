/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the CUDA kernels with the host's on data that tell mistakes apart. Needs no
 * GNU Radio. Exit status: 0 all the same, 1 a difference, 77 no GPU (skipped).
 *
 * check_cuda_kernels
 * [xengine|sc8|sc4|real_xengine|corner_turn|pfb|cuts|product_select|small|quick|
 *  inputs=N|channels=N]...
 * sc8, sc4 and real_xengine are parts of xengine, cuts of pfb; small is a few
 * channelisers. inputs=N (of X-engines, any number) and channels=N (of channelisers)
 * choose among them, and may be given again: a sanitizer takes long. A choice of what is
 * not compared is an error.
 */

#include "check_cuda.h"
#include "kernels/corner_turn/cuda_corner_turn.h"
#include "kernels/corner_turn/host_corner_turn.h"
#include "kernels/f_engine/cuda_f_engine.h"
#include "kernels/gpu/memory.h"
#include "kernels/pfb/cuda_pfb.h"
#include "kernels/pfb/host_pfb.h"
#include "kernels/pfb/prototype.h"
#include "kernels/select/cuda_product_select.h"
#include "kernels/select/host_product_select.h"
#include "kernels/xengine/cuda_xengine.h"
#include "kernels/xengine/host_xengine.h"
#include "runtime/host_stream.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

//! Numbers that arguments choose; if there are none, all are wanted.
class chosen_numbers
{
public:
    //! Whether the argument is name=N. Then it chooses N.
    bool add_if(const std::string& argument, const std::string& name)
    {
        int number;
        if (std::sscanf(argument.c_str(), (name + "=%d").c_str(), &number) != 1)
            return false;
        d_met[number] = false;
        return true;
    }
    bool wants(int number)
    {
        const auto found = d_met.find(number);
        if (found != d_met.end())
            found->second = true;
        return d_met.empty() || found != d_met.end();
    }
    void add_to(std::set<int>& numbers) const
    {
        for (const auto& [number, met] : d_met)
            numbers.insert(number);
    }
    void expect_all_met(const std::string& name) const
    {
        for (const auto& [number, met] : d_met)
            expect(met, name + "=" + std::to_string(number) + ": nothing to compare");
    }

private:
    std::map<int, bool> d_met;
};

chosen_numbers chosen_inputs;   // of X-engines
chosen_numbers chosen_channels; // of channelisers

enum class pattern { random, lowest, highest, alternating };

//! Bytes of sc8 or sc4; of sc4 -8 occurs, too, and is read as -7.
std::vector<int8_t> voltages_of(const xengine::parameters& p, int blocks, pattern kind)
{
    const bool nibbles = p.type == sample_type::sc4;
    const int most = nibbles ? 7 : 127, least = nibbles ? -8 : -127;
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
    std::vector<int8_t> v(size_t(blocks) * p.channels * p.inputs * p.spectra_per_frame *
                          size_of(p.type));
    for (size_t i = 0; i < v.size(); i++)
        v[i] = nibbles ? int8_t(number(2 * i) * 16 | (number(2 * i + 1) & 15))
                       : int8_t(number(i));
    return v;
}

void check_xengine(xengine::parameters p, int blocks, pattern kind, size_t shift = 0)
{
    if (!chosen_inputs.wants(p.inputs))
        return;
    const size_t visibilities = p.products() * p.channels;
    host_stream on_host;
    const auto host = host::make_xengine(p, host::xengine_vectors().front());
    std::vector<double> scales(p.products());
    for (auto& scale : scales)
        scale = 1. / (1 + random_bits() % 1000);

    const auto first = voltages_of(p, blocks, kind);
    const auto second = voltages_of(p, blocks, kind);
    std::vector<cfloat> expected(visibilities), expected_first(visibilities);
    host->accumulate(first.data(), blocks, on_host);
    host->dump(expected_first.data(), scales.data(), 1, on_host);
    host->accumulate(first.data(), blocks, on_host);
    host->accumulate(second.data(), blocks, on_host);
    host->dump(expected.data(), scales.data(), scales.size(), on_host);

    const guarded gpu_first(first, shift), gpu_second(second, shift);
    for (const auto& name : cuda::xengine_implementations(p, 0)) {
        if (name == "bulk mma s8" && p.inputs > 64)
            continue;
        const auto what =
            name + ", " + name_of(p.type) + ", " + std::to_string(p.inputs) +
            " inputs, " + std::to_string(p.channels) + " channels, " +
            std::to_string(p.spectra_per_frame) + " times, " + std::to_string(blocks) +
            " blocks, pattern " + std::to_string(int(kind));
        const auto own_stream = device::select("cuda").make_stream();
        stream& s = *own_stream;
        const auto kernel = cuda::make_xengine(p, 0, name);
        // one that needs less takes nothing away from one that needs more
        auto less = p;
        less.inputs = (p.inputs + 1) / 2;
        const auto names = cuda::xengine_implementations(less, 0);
        const auto other = std::find(names.begin(), names.end(), name) != names.end()
                               ? cuda::make_xengine(less, 0, name)
                               : nullptr;
        const guarded out(visibilities * sizeof(cfloat));
        auto* to = static_cast<cfloat*>(out.data());
        kernel->accumulate(gpu_second.data(), blocks, s);
        kernel->clear(s);
        kernel->accumulate(gpu_first.data(), blocks, s);
        kernel->dump(to, scales.data(), 1, s);
        s.synchronize();
        expect(same_bits(out.values<cfloat>(), expected_first), what);
        kernel->accumulate(gpu_first.data(), blocks, s);
        kernel->accumulate(gpu_second.data(), blocks, s);
        kernel->dump(to, scales.data(), scales.size(), s);
        s.synchronize();
        expect(same_bits(out.values<cfloat>(), expected), what + ", second dump");
        expect(out.untouched_around(), what + ", guards");
    }
}

std::map<std::string, double> worst_real_error, worst_steady_error;

/*!
 * Against sums in double precision, relative to the sum of absolute values: of noise the
 * error is at most 1e-6, of any voltages 1e-5 (real_xengine.h). The same voltages give
 * the same numbers, and the imaginary part of a product with itself is 0.
 */
void check_real_xengine(int inputs,
                        int channels,
                        int times,
                        int blocks,
                        bool steady = false,
                        size_t shift = 0)
{
    if (!chosen_inputs.wants(inputs))
        return;
    const xengine::parameters p{ channels, inputs, times, sample_type::fc32 };
    std::normal_distribution<float> normal;
    std::vector<cfloat> v(size_t(blocks) * channels * inputs * times);
    for (auto& x : v) // steady: every product errs to the same side
        x = steady ? cfloat(1.2345678f, .98765432f)
                   : cfloat(normal(random_bits), normal(random_bits));
    std::vector<std::complex<double>> sums(p.products() * channels);
    std::vector<double> sizes(sums.size());
    for (int c = 0; c < channels; c++)
        for (int a = 0; a < inputs; a++)
            for (int b = 0; b <= a; b++) {
                const size_t product = c * p.products() + a * (a + 1) / 2 + b;
                for (int block = 0; block < blocks; block++) {
                    const size_t row = (size_t(block) * channels + c) * inputs;
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
    for (const auto& name : cuda::xengine_implementations(p, 0)) {
        const auto what = name + " X-engine, " + std::to_string(inputs) + " inputs, " +
                          std::to_string(channels) + " channels, " +
                          std::to_string(times) + " times, " + std::to_string(blocks) +
                          " blocks";
        const guarded out(sums.size() * sizeof(cfloat));
        const auto kernel = cuda::make_xengine(p, 0, name);
        const auto integrate = [&](int calls) {
            const double scale = 1. / calls;
            for (int i = 0; i < calls; i++)
                kernel->accumulate(in.data(), blocks, s);
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
    // and that of those that are left when all thread blocks have had as many
    check_xengine({ 140, 66, 176, type }, 16, pattern::random);
    check_xengine({ 70, 200, 176, type }, 16, pattern::random);
    // more jobs than thread blocks, which take some each
    for (int n : { 128, 256 })
        check_xengine({ 300, n, 64, type }, 1, pattern::random);
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
        cuda::make_xengine({ 1, 4, 24, sample_type::sc8 }, 0);
    } catch (const std::invalid_argument& e) {
        refused = std::string(e.what()).find("times: 24") == 0;
    }
    expect(refused, "24 times are refused");
}

template <class T>
std::vector<T> random_values(size_t count)
{
    std::vector<T> v(count);
    auto* bytes = reinterpret_cast<uint8_t*>(v.data());
    for (size_t i = 0; i < count * sizeof(T); i++)
        bytes[i] = uint8_t(random_bits());
    return v;
}

//! \param offset voltages by which memory begins behind a multiple of 256 bytes, times
//! port + 1 where it is read
void check_corner_turn(corner_turn::parameters p,
                       int lost_port,
                       int offset = 0,
                       int blocks = 4)
{
    const size_t size = size_of(p.type);
    const int times = blocks * p.spectra_per_frame;
    const size_t port_size = size_t(times) * p.inputs_per_port * p.channels * size;
    const size_t block_size = size_t(p.selected_channels) * p.inputs() * times * size;
    const auto host = host::make_corner_turn(p);
    const auto kernel = cuda::make_corner_turn(p, 0);
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    std::vector<uint8_t> expected(block_size, guard_value);
    const guarded out(block_size, offset * size);
    std::vector<std::vector<uint8_t>> data;
    std::vector<guarded> gpu_data;
    for (int port = 0; port < p.ports; port++) {
        data.push_back(random_values<uint8_t>(port_size));
        gpu_data.emplace_back(data.back(), (port + 1) * offset * size);
    }
    // in two pieces, the rest of the last block stays as it is
    const int third = p.spectra_per_frame / 3;
    for (auto [first, count] :
         { std::pair(0, third), std::pair(third, times - third - 1) }) {
        std::vector<const void*> from, gpu_from;
        for (int port = 0; port < p.ports; port++) {
            const size_t start = size * first * p.inputs_per_port * p.channels;
            from.push_back(port == lost_port ? nullptr : data[port].data() + start);
            gpu_from.push_back(
                port == lost_port ? nullptr
                                  : static_cast<uint8_t*>(gpu_data[port].data()) + start);
        }
        host->execute(from.data(), expected.data(), first, count, on_host);
        kernel->execute(gpu_from.data(), out.data(), first, count, s);
    }
    s.synchronize();
    const auto what =
        "corner turn, " + name_of(p.type) + ", " + std::to_string(p.channels) +
        " channels, " + std::to_string(p.inputs()) + " inputs, " +
        std::to_string(p.spectra_per_frame) + " times, offset " + std::to_string(offset);
    expect(same_bits(out.values<uint8_t>(), expected), what);
    expect(kernel->clamped() == host->clamped(), what + ", counts");
    expect(out.untouched_around(), what + ", guards");
}

void check_corner_turns()
{
    for (auto type : { sample_type::sc8, sample_type::sc4, sample_type::fc32 }) {
        check_corner_turn({ 64, 2, 1, 64, type, 0, 64 }, -1);
        check_corner_turn({ 130, 3, 2, 77, type, 3, 101 }, 1);
        check_corner_turn({ 7, 5, 3, 200, type, 6, 1 }, 4);
        check_corner_turn({ 1024, 1, 16, 256, type, 1, 1000 }, -1);
        check_corner_turn({ 1024, 2, 2, 96, type, 16, 992 }, -1);
        check_corner_turn({ 16, 66, 1, 40, type, 0, 16 }, 65);
        // rows that begin anywhere: channels, times or both, several tiles of each
        for (int offset : { 0, 1, 7 }) {
            check_corner_turn({ 1001, 3, 1, 299, type, 0, 1001 }, -1, offset);
            check_corner_turn({ 512, 2, 1, 533, type, 0, 512 }, 1, offset);
            check_corner_turn({ 513, 2, 1, 544, type, 0, 513 }, -1, offset);
            check_corner_turn({ 254, 2, 3, 331, type, 5, 249 }, -1, offset);
            check_corner_turn({ 36, 5, 1, 1027, type, 4, 31 }, 0, offset);
            check_corner_turn({ 65, 3, 1, 4, type, 1, 64 }, -1, offset);
        }
        // so much that an H200 turns it in wide tiles
        const int inputs = type == sample_type::sc4   ? 80
                           : type == sample_type::sc8 ? 48
                                                      : 15;
        check_corner_turn({ 1001, inputs, 1, 1001, type, 0, 1001 }, 1, 1, 1);
        check_corner_turn({ 1000, 1, inputs, 1001, type, 3, 997 }, -1, 3, 1);
        // and two whole blocks together
        check_corner_turn({ 1001, (inputs + 1) / 2, 1, 1001, type, 0, 1001 }, 1, 1);
    }
}

//! What a channeliser takes.
constexpr sample_type types_of_samples[] = { sample_type::sc8,  sample_type::s8,
                                             sample_type::sc16, sample_type::s16,
                                             sample_type::fc32, sample_type::f32,
                                             sample_type::sc4,  sample_type::s12,
                                             sample_type::s10 };

//! Those that become 8-bit spectra of so many channels on tensor cores.
std::vector<sample_type> types_on_tensor_cores(int channels)
{
    if (channels > 1024)
        return { sample_type::sc8, sample_type::sc4 };
    return { sample_type::sc8, sample_type::s8,  sample_type::sc4,
             sample_type::s10, sample_type::s12, sample_type::sc16 };
}
int most_taps_on_tensor_cores(sample_type type)
{
    return type == sample_type::sc8 ? 16 : 8;
}

//! Samples around, for delays: a multiple of 16 bytes of any type, or calls without
//! delays would be left to another kernel.
constexpr int64_t margin = 64;
static_assert(2 * margin % (8 * 16) == 0, "of any even number of bits");

struct pfb_case {
    pfb::parameters p;
    int spectra;
    int lost_port = -1;
    bool delayed = false;
    bool turned = false; //!< by the f_engine, into a block with a few times more
    bool all = false;    //!< channels; otherwise most of them
    //! of the two calls with delays: its results are off the alignment of 16 bytes, and
    //! so another kernel's than the other call's
    int unaligned_call = -1;
    bool slow = false; //!< delays change so little that some spectra have the same phases
};

//! 8-bit numbers of the channeliser: how many, and how many of them a step apart.
struct steps {
    size_t all = 0, differ = 0;
    double most; //!< of all; design.md, section 2
};
steps single_precision{ 0, 0, 1e-4 }, half_precision{ 0, 0, 1e-2 };
//! What is transformed has two, the matrices have one; slow delays, of which slots have
//! one phase, add as much again.
steps two_halves{ 0, 0, 2.5e-3 };

//! An implementation's.
steps& totals_of(const std::string& implementation)
{
    const auto has = [&](const char* part) {
        return implementation.find(part) != std::string::npos;
    };
    return has("f16 + f16") ? two_halves : has("f16") ? half_precision : single_precision;
}

void expect_few(const steps& s, const char* kind)
{
    std::printf("channeliser, %s: %zu of %zu 8-bit numbers differ by a step (%.2g)\n",
                kind,
                s.differ,
                s.all,
                double(s.differ) / std::max<size_t>(s.all, 1));
    expect(s.differ <= s.most * s.all, std::string("steps of the channeliser, ") + kind);
}

bool floating(sample_type type)
{
    return type == sample_type::fc32 || type == sample_type::f32;
}

//! Samples that tell mistakes apart, of all inputs of a port.
std::vector<uint8_t> random_samples(sample_type type, int64_t samples, int inputs)
{
    auto bytes = random_values<uint8_t>(bytes_of(type, samples, inputs));
    std::normal_distribution<float> normal;
    if (floating(type))
        for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
            const float v = normal(random_bits);
            std::memcpy(&bytes[i], &v, sizeof v);
        }
    return bytes;
}

//! Of gains, such that most of 8-bit output fits.
float gain_for(sample_type type)
{
    switch (type) {
    case sample_type::fc32:
    case sample_type::f32:
        return 40;
    case sample_type::sc16:
    case sample_type::s16:
        return 2e-3f;
    case sample_type::s12:
        return .04f;
    case sample_type::s10:
        return .15f;
    case sample_type::sc4:
        return 9;
    default:
        return .6f;
    }
}

std::string name_of(const pfb::parameters& p)
{
    return name_of(p.input) + " to " + name_of(p.output) + ", " +
           std::to_string(p.channels) + " channels, " + std::to_string(p.taps) +
           " taps, " + std::to_string(p.ports) + " ports of " +
           std::to_string(p.inputs_per_port) + " inputs" +
           (p.inverted ? ", inverted" : "");
}

std::vector<cfloat> random_gains(const pfb::parameters& p)
{
    std::vector<cfloat> gains(size_t(p.inputs()) * p.channels);
    std::normal_distribution<float> normal;
    for (auto& g : gains)
        g = gain_for(p.input) * cfloat(normal(random_bits), normal(random_bits));
    return gains;
}

//! Delayed and slow, as in pfb_case.
constexpr std::pair<bool, bool> kinds_of_delays[] = { { false, false },
                                                      { true, false },
                                                      { true, true } };

//! \param slow as in pfb_case
std::vector<delay> random_delays(const pfb::parameters& p, bool slow)
{
    const double speed = slow ? 1e-3 : 1;
    std::uniform_real_distribution<double> any(-1, 1);
    std::vector<delay> all;
    for (int input = 0; input < p.inputs(); input++)
        all.push_back({ int64_t(random_bits() % 41) - 20,
                        any(random_bits) / 2,
                        any(random_bits) * 1e-3 * speed,
                        any(random_bits) * 3,
                        any(random_bits) * .1 * speed });
    return all;
}

void compare_outputs(const std::vector<uint8_t>& got,
                     const std::vector<uint8_t>& expected,
                     sample_type type,
                     steps& totals,
                     const std::string& what)
{
    if (type == sample_type::sc8) {
        int worst = 0;
        size_t steps = 0;
        for (size_t i = 0; i < got.size(); i++) {
            const int d = std::abs(int8_t(got[i]) - int8_t(expected[i]));
            worst = std::max(worst, d);
            steps += d != 0;
        }
        totals.all += got.size();
        totals.differ += steps;
        expect(worst <= 1, what + ": " + std::to_string(worst) + " steps");
        // within 5 standard deviations of a small sample
        const double most = totals.most * got.size();
        expect(steps <= most + 5 * std::sqrt(most),
               what + ": " + std::to_string(steps) + " of " + std::to_string(got.size()) +
                   " differ");
        return;
    }
    const auto* a = reinterpret_cast<const float*>(got.data());
    const auto* b = reinterpret_cast<const float*>(expected.data());
    double difference = 0, size = 0;
    for (size_t i = 0; i < got.size() / sizeof(float); i++) {
        difference += std::pow(double(a[i]) - b[i], 2);
        size += std::pow(double(b[i]), 2);
    }
    // single precision, and the roundings of a transform add up like noise
    expect(size == 0 ? difference == 0 : std::sqrt(difference / size) < 1e-6,
           what + ": error " + std::to_string(std::sqrt(difference / size)));
}

void check_pfb(pfb_case c, bool plain)
{
    auto& p = c.p;
    if (!chosen_channels.wants(p.channels))
        return;
    const int64_t samples = int64_t(c.spectra - 1 + p.taps) * p.step();
    const size_t results = size_t(c.spectra) * p.inputs_per_port * p.channels;
    p.prototype = prototype(p.step(), p.taps, "hann");
    auto gains = random_gains(p);
    const auto delays = random_delays(p, c.slow);

    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    std::vector<std::vector<uint8_t>> data;
    std::vector<guarded> gpu_data;
    std::vector<pfb::source> from, gpu_from;
    const size_t before = bytes_of(p.input, margin, p.inputs_per_port);
    for (int port = 0; port < p.ports; port++) {
        data.push_back(random_samples(p.input, samples + 2 * margin, p.inputs_per_port));
        gpu_data.emplace_back(data.back());
    }
    for (int port = 0; port < p.ports; port++) {
        const bool lost = port == c.lost_port;
        const size_t counted = port % 2 ? size_t(p.taps - 1) * p.step() : 0;
        from.push_back({ lost ? nullptr : data[port].data() + before, counted });
        gpu_from.push_back(
            { lost ? nullptr : static_cast<uint8_t*>(gpu_data[port].data()) + before,
              counted });
    }
    const auto set = [&](auto& kernel, stream& to) {
        kernel.set_gains(gains.data(), to);
        if (c.delayed)
            kernel.set_delays(delays.data(), to);
    };
    auto what = name_of(p) + (c.delayed ? c.slow ? ", delayed slowly" : ", delayed" : "");
    // half precision is for an rms of some 20 steps
    const auto prepare_for = [&](const std::string& implementation) -> steps& {
        what = implementation + ", " + what;
        auto& totals = totals_of(implementation);
        if (&totals != &single_precision)
            for (auto& g : gains)
                g *= .3f;
        return totals;
    };
    // a number is clamped on one side only when it is within a small part of a step of
    // the limit: of those beyond the limit, a few hundredths are for each step (Gauss)
    const auto compare_counts =
        [&](const pfb::counts& got, const pfb::counts& want, const steps& totals) {
            expect(got.samples == want.samples, what + ", counts of the lowest number");
            uint64_t differences = 0, clamped = 0;
            for (int i = 0; i < p.inputs(); i++) {
                clamped += want.output[i];
                differences += std::abs(int64_t(got.output[i] - want.output[i]));
            }
            const bool coarse = &totals != &single_precision;
            expect(differences <= (coarse ? 3 + 1e-2 * clamped : 1 + 1e-3 * clamped),
                   what + ", counts of clamped output: " + std::to_string(differences) +
                       " of " + std::to_string(clamped) + " differ");
        };
    if (c.turned) {
        const int first = c.spectra % 2 ? 3 : 16;
        const int skipped = c.all ? 0 : p.channels / 8 + 1;
        const f_engine::parameters f{
            p, (first + c.spectra + 23) / 8 * 8, skipped, p.channels - 2 * skipped
        };
        const auto host = f_engine::make_composed(f, device::select("cpu"));
        const auto kernel = f_engine::make(f, device::select("cuda"));
        auto& totals = prepare_for(kernel->implementation());
        set(*host, on_host);
        set(*kernel, s);
        const size_t bytes = size_t(f.selected_channels) * p.inputs() *
                             f.spectra_per_frame * size_of(p.output);
        // what is not written stays as it is
        std::vector<uint8_t> expected(bytes, guard_value);
        const guarded out(bytes);
        host->execute(from.data(), expected.data(), first, c.spectra, on_host);
        kernel->execute(gpu_from.data(), out.data(), first, c.spectra, s);
        s.synchronize();
        compare_outputs(out.values<uint8_t>(), expected, p.output, totals, what);
        expect(out.untouched_around(), what + ", guards");
        compare_counts(kernel->clamped(), host->clamped(), totals);
        return;
    }
    const auto host = host::make_pfb(p);
    const auto kernel = plain ? cuda::make_plain_pfb(p, 0) : cuda::make_pfb(p, 0);
    auto& totals = prepare_for(kernel->implementation());
    set(*host, on_host);
    set(*kernel, s);
    std::vector<std::vector<uint8_t>> expected;
    std::vector<guarded> out;
    std::vector<void*> to, gpu_to;
    for (int port = 0; port < p.ports; port++) {
        expected.emplace_back(results * size_of(p.output), guard_value);
        // now and then off the alignment of 16 bytes
        out.emplace_back(results * size_of(p.output), p.ports == 3 ? 8 : 0);
    }
    for (int port = 0; port < p.ports; port++) {
        to.push_back(expected[port].data());
        gpu_to.push_back(out[port].data());
    }
    // in two calls: delays go on where they were
    const int half = c.delayed ? c.spectra / 2 : 0;
    const std::pair<int, int> calls[] = { { 0, half }, { half, c.spectra - half } };
    std::vector<guarded> aside; // results of the unaligned call
    const size_t line = size_t(p.inputs_per_port) * p.channels * size_of(p.output);
    if (c.unaligned_call >= 0)
        for (int port = 0; port < p.ports; port++)
            aside.emplace_back(calls[c.unaligned_call].second * line, 8);
    for (auto [first, count] : calls) {
        auto host_from = from, device_from = gpu_from;
        auto host_to = to, device_to = gpu_to;
        for (int port = 0; port < p.ports; port++) {
            const size_t in =
                bytes_of(p.input, int64_t(first) * p.step(), p.inputs_per_port);
            const size_t done = first * line;
            for (auto* list : { &host_from, &device_from })
                if ((*list)[port].samples)
                    (*list)[port].samples =
                        static_cast<const uint8_t*>((*list)[port].samples) + in;
            host_to[port] = static_cast<uint8_t*>(to[port]) + done;
            device_to[port] = static_cast<uint8_t*>(gpu_to[port]) + done;
            if (!aside.empty() && first == calls[c.unaligned_call].first)
                device_to[port] = aside[port].data();
        }
        if (count)
            host->execute(host_from.data(), host_to.data(), count, on_host);
        kernel->execute(device_from.data(), device_to.data(), count, s);
    }
    s.synchronize();
    for (int port = 0; port < p.ports; port++) {
        auto got = out[port].values<uint8_t>();
        if (!aside.empty()) {
            const auto others = aside[port].values<uint8_t>();
            std::copy(others.begin(),
                      others.end(),
                      got.begin() + calls[c.unaligned_call].first * line);
            expect(aside[port].untouched_around(), what + ", guards");
        }
        compare_outputs(got, expected[port], p.output, totals, what);
        expect(out[port].untouched_around(), what + ", guards");
    }
    compare_counts(kernel->clamped(), host->clamped(), totals);
}

//! As they are in memory, from number `first` on: 4, 8, 10 or 12 bits each, the highest
//! first.
std::vector<uint8_t>
packed_numbers(sample_type type, const std::vector<int>& numbers, size_t first)
{
    const int bits = int(bytes_of(type, 8, 1)) / (is_complex(type) ? 2 : 1);
    std::vector<uint8_t> bytes((numbers.size() - first) * bits / 8);
    for (size_t i = 0; i < 8 * bytes.size(); i++) {
        const int bit = numbers[first + i / bits] >> (bits - 1 - i % bits) & 1;
        // only in numbers of two bytes the lowest bits come first
        bytes[bits == 16 ? i / 8 ^ 1 : i / 8] |= uint8_t(bit << (7 - i % 8));
    }
    return bytes;
}

/*!
 * Acceptance of delays: the phase of each channel within 1 degree of the model, on the
 * way that 8-bit samples to 8-bit spectra go. 79.53 us, 2.5 ps and 2.56 ns/s are at 1.712
 * Gsample/s. The samples are noise; over 300 spectra, rounding moves a phase by 0.1
 * degrees. \param slow phases that change so little that some spectra have the same
 */
void check_delays(sample_type type, int channels, bool slow, bool inverted)
{
    pfb::parameters p{ channels, 8, 7, 1, type, sample_type::sc8, inverted, {} };
    if (!chosen_channels.wants(p.channels))
        return;
    constexpr double pi = 3.14159265358979;
    const double drift = 2.56e-9 * p.step();
    const bool nibbles = type == sample_type::sc4;
    const float gain = nibbles ? 8 : 1;
    const std::vector<delay> delays{ { 0, 0, 0, pi, 0 },
                                     { 136155, .36, 0, -pi, 0 },
                                     { -136155, -.36, 0, 2 * pi / 3, 0 },
                                     { 0, .00428, 0, .01, 0 },
                                     { 2, .75, 0, 0, 0 },
                                     { 1, .2, drift, 0, slow ? 1e-4 : .2 },
                                     { -3, .5, -drift, 0, slow ? -1e-5 : -1e-4 } };
    const int spectra = 301, n = p.channels;
    const int64_t around = 136160, samples = int64_t(spectra - 1 + p.taps) * p.step();
    p.prototype = prototype(p.step(), p.taps, "hann");
    std::vector<std::vector<uint8_t>> data;
    std::vector<guarded> gpu_data, out;
    std::vector<pfb::source> from, gpu_from;
    std::vector<void*> to;
    std::normal_distribution<float> normal(0, 18 / gain);
    const auto number = [&] {
        const float most = nibbles ? 7 : 127;
        return int(std::clamp(std::rint(normal(random_bits)), -most, most));
    };
    const int parts = is_complex(type) ? 2 : 1;
    for (int i = 0; i < p.ports; i++) {
        std::vector<int> numbers(parts * (samples + 2 * around));
        for (int& v : numbers)
            v = number();
        // by whole samples the input is read earlier
        data.push_back(
            packed_numbers(type, numbers, parts * (around - delays[i].samples)));
        gpu_data.emplace_back(packed_numbers(type, numbers, 0));
        out.emplace_back(size_t(spectra) * n * 2);
        from.push_back({ data[i].data(), 0 });
        gpu_from.push_back(
            { static_cast<uint8_t*>(gpu_data[i].data()) + bytes_of(type, around, 1), 0 });
        to.push_back(out[i].data());
    }
    const auto own_stream = device::select("cuda").make_stream();
    const auto kernel = cuda::make_pfb(p, 0);
    const std::vector<cfloat> gains(size_t(p.inputs()) * n, gain);
    kernel->set_gains(gains.data(), *own_stream);
    kernel->set_delays(delays.data(), *own_stream);
    kernel->execute(gpu_from.data(), to.data(), spectra, *own_stream);
    own_stream->synchronize();
    p.output = sample_type::fc32;
    host_stream on_host;
    std::vector<std::vector<cfloat>> plain(p.ports,
                                           std::vector<cfloat>(size_t(spectra) * n));
    std::vector<void*> to_plain;
    for (auto& v : plain)
        to_plain.push_back(v.data());
    host::make_pfb(p)->execute(from.data(), to_plain.data(), spectra, on_host);
    const int turned = is_complex(type) ? 0 : inverted ? 1 - n / 2 : n / 2;
    double worst = 0;
    for (int i = 0; i < p.ports; i++) {
        const auto got = out[i].values<int8_t>();
        const auto& d = delays[i];
        for (int k = 0; k < n; k++) {
            std::complex<double> sum = 0;
            for (int m = 0; m < spectra; m++) {
                const size_t at = size_t(m) * n + k;
                // whole samples turn the middle of the band of real ones, of an inverted
                // band the channel below it, and are turned back
                const double phase =
                    d.phase + d.phase_rate * m -
                    2 * pi * (k - n / 2) / p.step() * (d.fraction + d.fraction_rate * m) +
                    2 * pi * double(d.samples % p.step()) * turned / p.step();
                sum += std::complex<double>(got[2 * at], got[2 * at + 1]) *
                       std::conj(std::complex<double>(plain[i][at])) *
                       std::polar(1., -phase);
            }
            worst = std::max(worst, std::abs(std::arg(sum)) * 180 / pi);
        }
    }
    std::printf("%sdelays, %s%s, %s: phases within %.2f degrees\n",
                slow ? "slow " : "",
                name_of(type).c_str(),
                inverted ? ", inverted" : "",
                kernel->implementation().c_str(),
                worst);
    expect(worst <= 1, "phases of delays");
}

/*!
 * Delays that are set, changed and taken away between calls, of 8-bit samples to 8-bit
 * spectra: none, slow and fast ones have kernels of their own.
 */
void check_switched_delays(sample_type type, int channels)
{
    pfb::parameters p{ channels, 8, 2, 1, type, sample_type::sc8, false, {} };
    if (!chosen_channels.wants(p.channels))
        return;
    const std::vector<int> calls{ 5, 33, std::max(8, 8 * 1024 / channels), 12, 1, 40 };
    const int spectra = std::accumulate(calls.begin(), calls.end(), 0);
    p.prototype = prototype(p.step(), p.taps, "hann");
    auto gains = random_gains(p);
    for (auto& g : gains)
        g *= .3f;
    const auto some = random_delays(p, false), others = random_delays(p, true);
    const std::vector<const delay*> delays{ nullptr,       some.data(), some.data(),
                                            others.data(), nullptr,     some.data() };
    const int64_t samples = int64_t(spectra - 1 + p.taps) * p.step() + 2 * margin;
    const size_t line = size_t(p.channels) * size_of(p.output);
    const auto own_stream = device::select("cuda").make_stream();
    host_stream on_host;
    const auto host = host::make_pfb(p);
    const auto kernel = cuda::make_pfb(p, 0);
    host->set_gains(gains.data(), on_host);
    kernel->set_gains(gains.data(), *own_stream);
    std::vector<std::vector<uint8_t>> data, expected;
    std::vector<guarded> gpu_data, out;
    for (int i = 0; i < p.ports; i++) {
        data.push_back(random_samples(p.input, samples, 1));
        gpu_data.emplace_back(data.back());
        expected.emplace_back(spectra * line);
        out.emplace_back(spectra * line);
    }
    for (size_t call = 0, first = 0; call < calls.size(); first += calls[call++]) {
        std::vector<pfb::source> from, gpu_from;
        std::vector<void*> to, gpu_to;
        for (int i = 0; i < p.ports; i++) {
            const size_t before = bytes_of(p.input, margin + first * p.step(), 1);
            from.push_back({ data[i].data() + before, 0 });
            gpu_from.push_back({ static_cast<uint8_t*>(gpu_data[i].data()) + before, 0 });
            to.push_back(expected[i].data() + first * line);
            gpu_to.push_back(static_cast<uint8_t*>(out[i].data()) + first * line);
        }
        // the second and the third call have the same ones, which go on
        if (call != 2) {
            host->set_delays(delays[call], on_host);
            kernel->set_delays(delays[call], *own_stream);
        }
        host->execute(from.data(), to.data(), calls[call], on_host);
        kernel->execute(gpu_from.data(), gpu_to.data(), calls[call], *own_stream);
    }
    own_stream->synchronize();
    for (int i = 0; i < p.ports; i++) {
        const auto what = name_of(p) + ", delays switched";
        compare_outputs(out[i].values<uint8_t>(),
                        expected[i],
                        p.output,
                        totals_of(kernel->implementation()),
                        what);
        expect(out[i].untouched_around(), what + ", guards");
    }
}

//! What 8-bit samples to 8-bit spectra are given to.
void check_name(pfb::parameters p, bool hopper)
{
    if (!chosen_channels.wants(p.channels))
        return;
    const auto types = types_on_tensor_cores(p.channels);
    const bool tensor = hopper && p.channels >= 64 && p.channels <= 8192 &&
                        std::count(types.begin(), types.end(), p.input) &&
                        p.taps <= most_taps_on_tensor_cores(p.input);
    p.prototype = prototype(p.step(), p.taps, "hann");
    const auto name = cuda::make_pfb(p, 0)->implementation();
    const std::string halves = p.input == sample_type::sc16 ? "f16 + f16" : "f16";
    const auto expected = "cuda tensor " + halves + " fft " + std::to_string(p.channels);
    expect((name == expected) == tensor, name_of(p) + " by " + name);
    const auto turned = f_engine::make({ p, 16, 0, p.channels }, device::select("cuda"))
                            ->implementation();
    expect((turned == expected + ", stored by channel") == tensor,
           name_of(p) + ", turned, by " + turned);
}

void check_names()
{
    cudaDeviceProp gpu;
    cuda::check(cudaGetDeviceProperties(&gpu, 0), "asking for the GPU's architecture");
    for (auto type : types_on_tensor_cores(1024))
        for (int n = 32; n <= 16384; n *= 2)
            for (auto [taps, inverted] : { std::pair(8, false),
                                           { 8, true },
                                           { 9, false },
                                           { 16, true },
                                           { 17, false } })
                check_name({ n, taps, 1, 1, type, sample_type::sc8, inverted, {} },
                           gpu.major == 9);
}

/*!
 * The same samples give the same bits, whatever calls the stream is cut into and wherever
 * the results are stored. \param skipped channels at both ends of a block \param slow as
 * in pfb_case
 */
void check_cuts(pfb::parameters p, bool delayed, int skipped, bool slow = false)
{
    if (!chosen_channels.wants(p.channels))
        return;
    const int spectra = 2 * std::max(16, 8192 / p.channels) + 7;
    const int64_t samples = int64_t(spectra - 1 + p.taps) * p.step() + 2 * margin;
    p.prototype = prototype(p.step(), p.taps, "hann");
    const auto gains = random_gains(p);
    const auto delays = random_delays(p, slow);
    std::vector<guarded> data;
    std::vector<pfb::source> from;
    for (int port = 0; port < p.ports; port++) {
        data.emplace_back(random_samples(p.input, samples, p.inputs_per_port));
        from.push_back({ static_cast<char*>(data.back().data()) +
                             bytes_of(p.input, margin, p.inputs_per_port),
                         0 });
    }
    const std::vector<int> whole{ spectra };
    std::vector<int> uneven;
    for (int left = spectra, next = 1; left > 0; next = 2 * next % 17 + 1) {
        uneven.push_back(std::min(next, left));
        left -= uneven.back();
    }
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const auto run = [&](auto& kernel, const std::vector<int>& calls, auto execute) {
        kernel.set_gains(gains.data(), s);
        if (delayed)
            kernel.set_delays(delays.data(), s);
        int first = 0;
        for (int count : calls) {
            auto here = from;
            for (auto& source : here)
                source = pfb::later(p, source, first);
            execute(here.data(), first, count);
            first += count;
        }
        s.synchronize();
    };
    const size_t size = size_of(p.output);
    const size_t spectrum = size * p.inputs_per_port * p.channels;
    const auto spectra_of = [&](const std::vector<int>& calls) {
        const auto kernel = cuda::make_pfb(p, 0);
        const size_t port = spectrum * spectra;
        const guarded out(port * p.ports);
        run(*kernel, calls, [&](const pfb::source* sources, int first, int count) {
            std::vector<void*> to;
            for (int i = 0; i < p.ports; i++)
                to.push_back(static_cast<char*>(out.data()) + port * i +
                             spectrum * first);
            kernel->execute(sources, to.data(), count, s);
        });
        return std::pair(out.values<uint8_t>(), kernel->clamped());
    };
    const int before = 8;
    const int selected = p.channels - 2 * skipped;
    // of one channel of one block in bytes, and all that they are put into
    const auto block_row = [&](int times) { return size * p.inputs() * times; };
    const auto bytes_of_blocks = [&](int times) {
        return (before + spectra + times) / times * block_row(times) * selected;
    };
    const auto blocks_of = [&](const std::vector<int>& calls, int times) {
        const auto kernel =
            f_engine::make({ p, times, skipped, selected }, device::select("cuda"));
        const guarded out(bytes_of_blocks(times));
        run(*kernel, calls, [&](const pfb::source* sources, int first, int count) {
            const int block = (before + first) / times;
            kernel->execute(sources,
                            static_cast<char*>(out.data()) +
                                block * block_row(times) * selected,
                            (before + first) % times,
                            count,
                            s);
        });
        return std::pair(out.values<uint8_t>(), kernel->clamped());
    };
    const auto expected = spectra_of(whole);
    const auto turned = [&](int times) {
        std::vector<uint8_t> all(bytes_of_blocks(times), guard_value);
        for (int k = 0; k < selected; k++)
            for (int input = 0; input < p.inputs(); input++)
                for (int t = 0; t < spectra; t++) {
                    const size_t line = input / p.inputs_per_port * size_t(spectra) + t;
                    const size_t item =
                        line * p.inputs_per_port + input % p.inputs_per_port;
                    const int block = (before + t) / times, time = (before + t) % times;
                    std::memcpy(&all[(size_t(block) * selected + k) * block_row(times) +
                                     (input * times + time) * size],
                                &expected.first[(item * p.channels + k + skipped) * size],
                                size);
                }
        return all;
    };
    const auto what =
        name_of(p) + (delayed ? slow ? ", delayed slowly" : ", delayed" : "");
    const auto compare = [&](const auto& got, const auto& bytes, const std::string& how) {
        expect(same_bits(got.first, bytes), what + ", same bits " + how);
        expect(got.second.samples == expected.second.samples &&
                   got.second.output == expected.second.output,
               what + ", same counts " + how);
    };
    compare(spectra_of(uneven), expected.first, "in uneven calls");
    // one block, and several in a row that the copy engine stores, and threads
    for (int times : { (before + spectra + 15) / 8 * 8, 24, 11 }) {
        const auto where = "in blocks of " + std::to_string(times) + " times";
        compare(blocks_of(whole, times), turned(times), where);
        compare(blocks_of(uneven, times), turned(times), where + " in uneven calls");
    }
}

void check_cuts(bool quick)
{
    using type = sample_type;
    int variant = 0;
    for (int n = 64; n <= 8192; n *= 2)
        for (auto t : types_of_samples)
            for (auto output : { type::fc32, type::sc8 }) {
                variant++;
                if (quick && variant % 4 != 1)
                    continue;
                const bool odd = variant % 5 == 0;
                // blocks of all channels are stored in boxes
                check_cuts({ n, odd ? 5 : 8, 2, 1, t, output, odd, {} },
                           variant % 3 == 0,
                           variant % 3 == 1 ? 0 : n / 8 + 1);
            }
    for (auto t : { type::sc8, type::fc32, type::s10 })
        check_cuts({ 64, 8, 2, 3, t, type::fc32, false, {} }, false, 9);
    for (int n : { 30, 32768 }) // not by the fused kernel
        for (auto t : { type::fc32, type::f32 })
            check_cuts({ n, 8, 2, 1, t, type::fc32, false, {} }, false, 5);
}

/*!
 * A call gives the same bits each time, also when the GPU turns to other programs in the
 * middle of it: to be run by several programs at a time. On tensor cores, where the copy
 * engine, filter and crews share memory.
 */
void check_repeats()
{
    constexpr int calls = 100, slot_spectra = 4;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const auto check = [&](pfb::parameters p, bool delayed, int first_time) {
        p.prototype = prototype(p.step(), p.taps, "hann");
        const bool turned = first_time >= 0;
        // slots, which may have one phase, begin alike in all calls
        const int slots = 1930 * 1024 / slot_spectra / p.channels;
        const int spectra = slots * slot_spectra + (delayed ? 0 : 1);
        const int64_t samples = int64_t(spectra - 1 + p.taps) * p.step() + 2 * margin;
        const size_t results = size_t(spectra) * p.channels * size_of(p.output);
        std::vector<guarded> data, out;
        std::vector<pfb::source> from;
        std::vector<void*> to;
        for (int port = 0; port < p.ports; port++) {
            data.emplace_back(random_samples(p.input, samples, 1));
            from.push_back(
                { static_cast<char*>(data.back().data()) + bytes_of(p.input, margin, 1),
                  0 });
            if (!turned)
                to.push_back(out.emplace_back(results).data());
        }
        const int times = (first_time + spectra + 7) / 8 * 8;
        if (turned)
            out.emplace_back(size_t(p.channels) * p.ports * times * size_of(p.output));
        const auto gains = random_gains(p);
        const auto delays = random_delays(p, true);
        std::vector<std::vector<uint8_t>> first;
        int different = 0;
        const auto repeat = [&](auto& kernel, auto execute) {
            kernel.set_gains(gains.data(), s);
            for (int call = 0; call < calls; call++) {
                if (delayed) // they go on from call to call
                    kernel.set_delays(delays.data(), s);
                execute(kernel);
                s.synchronize();
                std::vector<std::vector<uint8_t>> all;
                for (const auto& o : out)
                    all.push_back(o.template values<uint8_t>());
                if (call == 0)
                    first = all;
                different += all != first;
            }
        };
        if (turned)
            repeat(*f_engine::make({ p, times, 0, p.channels }, device::select("cuda")),
                   [&](auto& k) {
                       k.execute(from.data(), out[0].data(), first_time, spectra, s);
                   });
        else
            repeat(*cuda::make_pfb(p, 0),
                   [&](auto& k) { k.execute(from.data(), to.data(), spectra, s); });
        expect(different == 0,
               name_of(p) + (delayed ? ", delayed" : "") +
                   (turned ? ", times from " + std::to_string(first_time) : "") + ": " +
                   std::to_string(different) + " calls differ from the first");
    };
    for (int n = 64; n <= 8192; n *= 2)
        for (auto t : types_on_tensor_cores(n))
            for (int taps = 8; taps <= most_taps_on_tensor_cores(t); taps += 8)
                for (bool delayed : { false, true })
                    // spectra; times stored by the copy engine, and by threads
                    for (int first_time : { -1, 0, 3 })
                        if (chosen_channels.wants(n))
                            check({ n,
                                    taps,
                                    5,
                                    1,
                                    t,
                                    sample_type::sc8,
                                    first_time == 3,
                                    {} },
                                  delayed,
                                  first_time);
}

//! A few cases of each kind, for tools that make a GPU slow.
void check_small_pfbs()
{
    using type = sample_type;
    const auto check = [](type t, int n, int taps, int inputs) {
        const pfb::parameters p{ n, taps, 2, inputs, t, type::sc8, false, {} };
        const int spectra = std::max(8, 8192 / n) + 1;
        check_pfb({ p, spectra, 1, true }, false);
        const auto on_tensor_cores = types_on_tensor_cores(n);
        if (std::count(on_tensor_cores.begin(), on_tensor_cores.end(), t)) {
            check_pfb({ p, 4 * spectra }, false);
            // so many that blocks of threads have whole sectors of a block
            const int many = 2400 * 1024 / n;
            check_pfb({ p, many, -1, false, true, true }, false);
            // delays have kernels of their own
            check_pfb({ p, many, -1, true, true, true }, false);
            for (bool turned : { false, true })
                check_pfb({ p, many, -1, true, turned, true, -1, true }, false);
            // as have real samples that are inverted
            auto inverted = p;
            inverted.inverted = true;
            for (bool delayed : { false, true })
                for (bool turned : { false, true })
                    if (!is_complex(t))
                        check_pfb({ inverted, many, -1, delayed, turned, true }, false);
            auto several = p;
            several.inputs_per_port = 3;
            check_pfb({ several, 4 * spectra, -1, true }, false);
            check_pfb({ several, spectra, 1, false, true }, false);
            // several blocks in a row
            check_cuts(p, false, 0);
        }
        if (n >= 64)
            // times from within a sector on, and from its beginning
            for (auto [count, all] : { std::pair(spectra, false), { 4 * spectra, true } })
                check_pfb({ p, count, -1, false, true, all }, false);
    };
    for (auto [t, n, inputs] :
         { std::tuple(type::sc8, 1024, 1), std::tuple(type::sc8, 512, 1),
           std::tuple(type::sc8, 256, 1),  std::tuple(type::sc8, 128, 1),
           std::tuple(type::sc8, 64, 1),   std::tuple(type::sc8, 2048, 1),
           std::tuple(type::sc8, 4096, 1), std::tuple(type::sc8, 8192, 1),
           std::tuple(type::s8, 64, 1),    std::tuple(type::s8, 128, 1),
           std::tuple(type::s8, 256, 1),   std::tuple(type::s8, 512, 1),
           std::tuple(type::s8, 1024, 1),  std::tuple(type::fc32, 2048, 1),
           std::tuple(type::s10, 64, 1),   std::tuple(type::s10, 128, 1),
           std::tuple(type::s10, 256, 1),  std::tuple(type::s10, 512, 1),
           std::tuple(type::s10, 1024, 1), std::tuple(type::s12, 256, 1),
           std::tuple(type::s12, 64, 1),   std::tuple(type::s12, 1024, 1),
           std::tuple(type::sc16, 64, 1),  std::tuple(type::sc16, 256, 1),
           std::tuple(type::sc16, 512, 1), std::tuple(type::sc16, 1024, 1),
           std::tuple(type::sc4, 64, 1),   std::tuple(type::sc4, 256, 1),
           std::tuple(type::sc4, 512, 1),  std::tuple(type::sc4, 1024, 1),
           std::tuple(type::sc4, 128, 2),  std::tuple(type::s16, 1024, 1),
           std::tuple(type::s8, 4096, 1),  std::tuple(type::s16, 30, 1) }) {
        // others have kernels of their own, if any
        for (int taps = 4; taps <= most_taps_on_tensor_cores(t); taps += 8)
            check(t, n, taps, inputs);
    }
}

//! Inputs that a port carries sample by sample: every type, numbers that make tiles end
//! anywhere, more ports than a call takes along, and more spectra than are split at once.
void check_interleaved(bool quick)
{
    using type = sample_type;
    int variant = 0;
    for (auto t : types_of_samples)
        for (int inputs : { 2, 3, 16, 61, 150 }) {
            if (quick && inputs > 16)
                continue;
            variant++;
            const auto output = variant % 3 ? type::sc8 : type::fc32;
            const pfb::parameters p{ 64, 4, 2, inputs, t, output, variant % 4 == 1, {} };
            check_pfb({ p, 131, variant % 5 == 0 ? 1 : -1, variant % 2 == 0 }, false);
            check_pfb({ p, 131, variant % 5 == 1 ? 0 : -1, variant % 2 == 1, true },
                      false);
        }
    const auto with = [](int channels, int ports, int inputs, type t) {
        return pfb::parameters{ channels, 4, ports, inputs, t, type::sc8, false, {} };
    };
    for (bool delayed : { false, true }) {
        check_pfb({ with(64, 70, 3, type::sc8), 40, 5, delayed }, false);
        check_pfb({ with(64, 1, 1024, type::sc8), 40, -1, delayed }, false);
        check_pfb({ with(256, 2, 16, type::sc8), 141, 1, delayed, true }, false);
    }
    // on tensor cores, few and many inputs
    for (auto [ports, inputs] : { std::pair(2, 16), std::pair(5, 13) })
        for (bool delayed : { false, true })
            for (bool turned : { false, true })
                for (int n : { 64, 256, 1024, 2048, 8192 })
                    for (auto t : types_on_tensor_cores(n))
                        check_pfb({ with(n, ports, inputs, t),
                                    45,
                                    ports > 2 ? 1 : -1,
                                    delayed,
                                    turned,
                                    turned && delayed },
                                  false);
    if (quick)
        return;
    for (bool turned : { false, true }) {
        check_pfb({ with(8192, 2, 16, type::sc8), 150, 1, true, turned }, false);
        check_pfb({ with(1024, 1, 600, type::s10), 33, -1, false, turned }, false);
        check_pfb({ with(1024, 2, 300, type::sc8), 121, 0, true, turned }, false);
        check_pfb({ with(128, 1, 1024, type::fc32), 40, -1, true, turned }, false);
    }
}

void check_pfbs(bool quick)
{
    using type = sample_type;
    const auto check = [&](pfb_case c) {
        check_pfb(c, false);
        if (!c.turned && (c.p.channels < 200 || !quick))
            check_pfb(c, true);
    };
    for (auto output : { type::sc8, type::fc32 })
        for (bool inverted : { false, true }) {
            const auto with = [&](int channels, int taps, int ports, int inputs, type t) {
                return pfb::parameters{ channels, taps,   ports,    inputs,
                                        t,        output, inverted, {} };
            };
            check({ with(1024, 8, 2, 1, type::sc8), 37 });
            check({ with(1024, 8, 2, 2, type::sc8), 19 });
            check({ with(64, 4, 3, 1, type::sc8), 300, 1 });
            check({ with(256, 8, 2, 3, type::s8), 50 });
            check({ with(512, 8, 2, 1, type::s8), 45 });
            check({ with(128, 8, 2, 1, type::sc16), 70, 0 });
            check({ with(96, 3, 1, 5, type::s16), 45 });
            check({ with(256, 12, 1, 1, type::s16), 45 });
            check({ with(512, 8, 2, 2, type::fc32), 33, 1 });
            check({ with(2048, 8, 1, 1, type::fc32), 13 });
            check({ with(30, 16, 3, 1, type::f32), 61 });
            check({ with(64, 16, 2, 1, type::f32), 161 });
            check({ with(128, 7, 2, 1, type::sc4), 150 });
            check({ with(4096, 8, 1, 1, type::sc4), 9 });
            check({ with(256, 8, 1, 1, type::s12), 70 });
            check({ with(64, 8, 1, 4, type::s12), 140 });
            check({ with(1024, 8, 1, 1, type::s10), 17 });
            check({ with(128, 5, 2, 4, type::s10), 70 });
            check({ with(8192, 8, 1, 1, type::sc8), 5 });
            check({ with(32768, 8, 1, 1, type::sc8), 5 });
            for (auto [t, n] : { std::pair(type::sc8, 1024),
                                 std::pair(type::s8, 64),
                                 std::pair(type::sc16, 2048),
                                 std::pair(type::f32, 256),
                                 std::pair(type::sc4, 30) })
                check({ with(n, 8, 2, 1, t), 8192 / n + 21, -1, true });
            for (auto [t, n] : { std::pair(type::sc8, 1024),
                                 std::pair(type::s8, 128),
                                 std::pair(type::s10, 4096),
                                 std::pair(type::fc32, 64),
                                 std::pair(type::s16, 8192),
                                 std::pair(type::sc4, 512) })
                for (int odd : { 0, 1 })
                    check({ with(n, 4, 3, 1, t),
                            2 * std::max(8, 8192 / n) + odd,
                            1,
                            false,
                            true });
            check({ with(1024, 8, 2, 3, type::sc8), 21, -1, true, true });
        }
    // on tensor cores: any number of taps and spectra, pieces of several inputs, also
    // lost, and of several sectors
    for (int n = 64; n <= 8192; n *= 2)
        for (auto [taps, ports, spectra] : { std::tuple(8, 1, 1),
                                             std::tuple(1, 2, 6),
                                             std::tuple(5, 1, 12),
                                             std::tuple(7, 2, 1300 * 1024 / n),
                                             std::tuple(8, 5, 1930 * 1024 / n + 1),
                                             std::tuple(8, 5, 1930 * 1024 / n + 16),
                                             std::tuple(8, 64, 45),
                                             std::tuple(6, 3, 256),
                                             std::tuple(3, 65, 9),
                                             std::tuple(16, 2, 6),
                                             std::tuple(9, 1, 12),
                                             std::tuple(16, 2, 1300 * 1024 / n),
                                             std::tuple(13, 5, 1930 * 1024 / n + 1),
                                             std::tuple(16, 64, 45),
                                             std::tuple(10, 65, 9) })
            for (auto [turned, all] : { std::pair(false, true),
                                        std::pair(true, false),
                                        std::pair(true, true) })
                for (auto [delayed, slow] : kinds_of_delays)
                    for (auto t : types_on_tensor_cores(n))
                        for (bool inverted : { false, true }) {
                            // real ones are inverted by kernels of their own
                            if ((is_complex(t) && inverted != turned) ||
                                taps > most_taps_on_tensor_cores(t))
                                continue;
                            check_pfb({ { n, taps, ports, 1, t, type::sc8, inverted, {} },
                                        spectra,
                                        ports > 2 ? 1 : -1,
                                        delayed,
                                        turned,
                                        all,
                                        -1,
                                        slow },
                                      false);
                        }
    for (int n = 64; n <= 8192; n *= 2)
        for (auto t : types_on_tensor_cores(n)) {
            check_switched_delays(t, n);
            for (bool slow : { false, true })
                for (bool inverted : { false, true })
                    check_delays(t, n, slow, inverted);
        }
    check_names();
    for (int call : { 0, 1 })
        for (auto t : types_on_tensor_cores(1024)) {
            pfb_case c{ { 1024, 8, 2, 1, t, type::sc8, false, {} }, 45, -1, true };
            c.unaligned_call = call;
            check_pfb(c, false);
        }
    for (int n = 64; n <= 8192; n *= 2)
        for (auto t : types_on_tensor_cores(n))
            for (bool inverted : { false, true })
                for (int skipped : { 0, n / 8 + 1 })
                    for (auto [delayed, slow] : kinds_of_delays)
                        for (int inputs : { 1, 3 })
                            for (int taps = 8; taps <= most_taps_on_tensor_cores(t);
                                 taps += 8)
                                check_cuts(
                                    { n, taps, 3, inputs, t, type::sc8, inverted, {} },
                                    delayed,
                                    skipped,
                                    slow);
    check_interleaved(quick);
    check_cuts(quick);
    for (int ports : { 64, 65, 130 }) // lists of ports travel in two ways
        check({ { 64, 4, ports, 1, type::sc8, type::sc8, false, {} }, 17, 7 });
    for (int n = 64; !quick && n <= 8192; n *= 2)
        for (auto t : types_of_samples)
            check({ { n, 8, 2, 1, t, type::sc8, false, {} }, 3 * std::max(8, 8192 / n) });
    expect_few(single_precision, "single precision");
    expect_few(half_precision, "half precision");
    expect_few(two_halves, "two halves");
}

void check_product_select()
{
    const product_select::parameters p{ 33,
                                        5,
                                        { { 0, 0 }, { 4, 1 }, { 1, 4 }, { 3, 3 } } };
    const int items = 7;
    std::vector<cfloat> v(items * p.channels * 15);
    std::normal_distribution<float> normal;
    for (auto& x : v)
        x = cfloat(normal(random_bits), normal(random_bits));
    const guarded in(v);
    std::vector<std::vector<cfloat>> expected;
    std::vector<guarded> out;
    std::vector<cfloat*> to, gpu_to;
    for (size_t i = 0; i < p.products.size(); i++) {
        expected.emplace_back(items * p.channels);
        out.emplace_back(items * p.channels * sizeof(cfloat));
    }
    for (size_t i = 0; i < p.products.size(); i++) {
        to.push_back(expected[i].data());
        gpu_to.push_back(static_cast<cfloat*>(out[i].data()));
    }
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    host::make_product_select(p)->execute(v.data(), to.data(), items, on_host);
    const auto kernel = cuda::make_product_select(p, 0);
    kernel->execute(static_cast<const cfloat*>(in.data()), gpu_to.data(), items, s);
    s.synchronize();
    for (size_t i = 0; i < p.products.size(); i++) {
        expect(same_bits(out[i].values<cfloat>(), expected[i]), "product selection");
        expect(out[i].untouched_around(), "product selection, guards");
    }
}

} // namespace

int main(int argc, char** argv)
{
    if (no_gpu())
        return 77;
    std::set<std::string> words;
    for (int i = 1; i < argc; i++)
        if (!chosen_inputs.add_if(argv[i], "inputs") &&
            !chosen_channels.add_if(argv[i], "channels"))
            words.insert(argv[i]);
    const bool quick = words.erase("quick");
    const bool all = words.empty();
    // parts of others are only done where they are asked for
    const auto part = [&](bool of_another, const std::string& name, const auto& check) {
        if (!words.erase(name) && (of_another || !all))
            return;
        check();
        say_done(name);
    };
    try {
        part(false, "product_select", [] { check_product_select(); });
        part(false, "corner_turn", [] { check_corner_turns(); });
        part(true, "small", [] { check_small_pfbs(); });
        part(true, "repeats", [] { check_repeats(); });
        part(true, "cuts", [&] { check_cuts(quick); });
        part(false, "pfb", [&] { check_pfbs(quick); });
        for (auto type : { sample_type::sc8, sample_type::sc4 })
            part(true, name_of(type), [&] { check_integer_xengines(type, quick); });
        part(true, "real_xengine", [&] { check_real_xengines(quick); });
        part(false, "xengine", [&] { check_xengines(quick); });
        for (const auto& word : words)
            expect(false, word + ": not a part");
        chosen_inputs.expect_all_met("inputs");
        chosen_channels.expect_all_met("channels");
    } catch (const std::exception& e) {
        std::printf("FAILED: %s\n", e.what());
        return 1;
    }
    return summary();
}
