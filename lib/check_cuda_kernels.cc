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
 * check_cuda_kernels [xengine|corner_turn|pfb|product_select|quick]...
 */

#include "kernels/cuda/corner_turn.h"
#include "kernels/cuda/memory.h"
#include "kernels/cuda/pfb.h"
#include "kernels/cuda/product_select.h"
#include "kernels/cuda/xengine.h"
#include "kernels/host/corner_turn.h"
#include "kernels/host/pfb.h"
#include "kernels/host/product_select.h"
#include "kernels/host/xengine.h"
#include "kernels/prototype.h"
#include "runtime/host_stream.h"
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <random>
#include <set>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

constexpr size_t guard_bytes = 4096;
constexpr uint8_t guard_value = 0xa5;

//! Memory on the GPU with guards on both sides, full of garbage at first. `shift` moves
//! it off the alignment that allocations have.
class guarded
{
public:
    explicit guarded(size_t bytes, size_t shift = 0)
        : d_bytes(bytes), d_shift(shift), d_memory(bytes + 2 * guard_bytes + shift)
    {
        cuda::check(cudaMemset(d_memory.data(), guard_value, d_memory.size()), "guard");
    }
    template <class T>
    guarded(const std::vector<T>& values, size_t shift = 0)
        : guarded(values.size() * sizeof(T), shift)
    {
        cuda::check(cudaMemcpy(data(), values.data(), d_bytes, cudaMemcpyHostToDevice),
                    "copying");
        cuda::check(cudaDeviceSynchronize(), "copying");
    }
    void* data() const { return d_memory.data() + guard_bytes + d_shift; }

    template <class T>
    std::vector<T> values() const
    {
        std::vector<T> all(d_bytes / sizeof(T));
        cuda::check(cudaMemcpy(all.data(), data(), d_bytes, cudaMemcpyDeviceToHost),
                    "copying");
        return all;
    }
    bool untouched_around() const
    {
        std::vector<uint8_t> all(d_memory.size());
        cuda::check(
            cudaMemcpy(all.data(), d_memory.data(), all.size(), cudaMemcpyDeviceToHost),
            "copying");
        const size_t start = guard_bytes + d_shift;
        for (size_t i = 0; i < all.size(); i++)
            if ((i < start || i >= start + d_bytes) && all[i] != guard_value)
                return false;
        return true;
    }

private:
    size_t d_bytes, d_shift;
    cuda::device_array<uint8_t> d_memory;
};

int failures = 0;
int comparisons = 0;

void expect(bool ok, const std::string& what)
{
    comparisons++;
    if (!ok && failures++ < 40)
        std::printf("FAILED %s\n", what.c_str());
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && !std::memcmp(a.data(), b.data(), a.size() * sizeof(T));
}

std::mt19937 random_bits(1);

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
    std::vector<int8_t> v(size_t(blocks) * p.channels * p.inputs * p.times *
                          size_of(p.type));
    for (size_t i = 0; i < v.size(); i++)
        v[i] = nibbles ? int8_t(number(2 * i) * 16 | (number(2 * i + 1) & 15))
                       : int8_t(number(i));
    return v;
}

void check_xengine(xengine::parameters p, int blocks, pattern kind, size_t shift = 0)
{
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
        const auto what = name + ", " + name_of(p.type) + ", " +
                          std::to_string(p.inputs) + " inputs, " +
                          std::to_string(p.channels) + " channels, " +
                          std::to_string(p.times) + " times, " + std::to_string(blocks) +
                          " blocks, pattern " + std::to_string(int(kind));
        const auto own_stream = device::select("cuda").make_stream();
        stream& s = *own_stream;
        const auto kernel = cuda::make_xengine(p, 0, name);
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

//! Relative to the sum of absolute values the error is at most 32 2^-24 on the GPU and
//! 1024 2^-24 on the host.
void check_real_xengine(int inputs, int channels, int times, int blocks)
{
    const xengine::parameters p{ channels, inputs, times, sample_type::fc32 };
    std::normal_distribution<float> normal;
    std::vector<cfloat> v(size_t(blocks) * channels * inputs * times);
    for (auto& x : v)
        x = cfloat(normal(random_bits), normal(random_bits));
    const guarded in(v), out(p.products() * channels * sizeof(cfloat));
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const auto kernel = cuda::make_xengine(p, 0);
    const double scale = 1;
    kernel->accumulate(in.data(), blocks, s);
    kernel->dump(static_cast<cfloat*>(out.data()), &scale, 1, s);
    s.synchronize();
    const auto got = out.values<cfloat>();
    double worst = 0;
    for (int c = 0; c < channels; c++)
        for (int a = 0; a < inputs; a++)
            for (int b = 0; b <= a; b++) {
                std::complex<double> sum = 0;
                double size = 0;
                for (int block = 0; block < blocks; block++)
                    for (int t = 0; t < times; t++) {
                        const size_t row = (size_t(block) * channels + c) * inputs;
                        const std::complex<double> x = v[(row + a) * times + t];
                        const std::complex<double> y = v[(row + b) * times + t];
                        sum += x * std::conj(y);
                        size += std::abs(x * y);
                    }
                const auto g = got[c * p.products() + a * (a + 1) / 2 + b];
                worst = std::max(worst, std::abs(std::complex<double>(g) - sum) / size);
            }
    expect(worst < 2e-6,
           "fp32 X-engine, " + std::to_string(inputs) + " inputs: error " +
               std::to_string(worst));
    expect(out.untouched_around(), "fp32 X-engine, guards");
}

void check_integer_xengines(sample_type type, bool quick)
{
    std::set<int> sizes{ 1,  2,  3,  4,   7,   8,   9,   16,  33,  48,  64,
                         65, 96, 97, 130, 161, 200, 230, 256, 257, 300, 350 };
    if (!quick) {
        for (int n = 2; n <= 130; n++)
            sizes.insert(n);
        for (int n : { 159, 160, 192, 193, 224, 225, 255, 288,  289,  319,
                       385, 449, 511, 512, 513, 700, 769, 1000, 1023, 1024 })
            sizes.insert(n);
    }
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
    // more jobs than thread blocks, which take some each
    for (int n : { 128, 256 })
        check_xengine({ 300, n, 64, type }, 1, pattern::random);
}

void check_xengines(bool quick)
{
    for (auto type : { sample_type::sc8, sample_type::sc4 })
        check_integer_xengines(type, quick);
    if (quick)
        return;
    for (int n : { 1, 2, 3, 31, 32, 33, 70 })
        check_real_xengine(n, 3, 1000, 2);
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

void check_corner_turn(corner_turn::parameters p, int lost_port)
{
    const size_t size = size_of(p.type);
    const size_t port_size = size_t(p.times) * p.inputs_per_port * p.channels * size;
    const size_t block_size = size_t(p.selected_channels) * p.inputs() * p.times * size;
    const auto host = host::make_corner_turn(p);
    const auto kernel = cuda::make_corner_turn(p, 0);
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    std::vector<uint8_t> expected(block_size, guard_value);
    const guarded out(block_size);
    std::vector<std::vector<uint8_t>> data;
    std::vector<guarded> gpu_data;
    for (int port = 0; port < p.ports; port++) {
        data.push_back(random_values<uint8_t>(port_size));
        gpu_data.emplace_back(data.back());
    }
    // in two pieces, the rest of the block stays as it is
    const int half = p.times / 3;
    for (auto [first, count] :
         { std::pair(0, half), std::pair(half, p.times - half - 1) }) {
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
    const auto what = "corner turn, " + name_of(p.type) + ", " +
                      std::to_string(p.channels) + " channels, " +
                      std::to_string(p.inputs()) + " inputs";
    expect(same_bits(out.values<uint8_t>(), expected), what);
    expect(kernel->clamped() == host->clamped(), what + ", counts");
    expect(out.untouched_around(), what + ", guards");
}

void check_corner_turns()
{
    for (auto type : { sample_type::sc8, sample_type::fc32 }) {
        check_corner_turn({ 64, 2, 1, 64, type, 0, 64 }, -1);
        check_corner_turn({ 130, 3, 2, 77, type, 3, 101 }, 1);
        check_corner_turn({ 7, 5, 3, 200, type, 6, 1 }, 4);
        check_corner_turn({ 1024, 1, 16, 256, type, 1, 1000 }, -1);
    }
}

size_t total_outputs = 0, total_steps = 0;

template <class T>
void check_pfb(pfb::parameters p, int count, int lost_port)
{
    const size_t parts = is_complex(p.input) ? 2 : 1;
    const size_t samples = size_t(count - 1 + p.taps) * p.step();
    const size_t results = size_t(count) * p.inputs_per_port * p.channels;
    p.prototype = prototype(p.step(), p.taps, "hann");
    std::vector<cfloat> gains(size_t(p.inputs()) * p.channels);
    std::normal_distribution<float> normal;
    const float scale =
        p.input == sample_type::sc16 || p.input == sample_type::s16
            ? 2e-3f
            : (p.input == sample_type::sc8 || p.input == sample_type::s8 ? .6f : 40.f);
    for (auto& g : gains)
        g = scale * cfloat(normal(random_bits), normal(random_bits));

    const auto host = host::make_pfb(p);
    const auto kernel = cuda::make_pfb(p, 0);
    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    std::vector<std::vector<T>> data;
    std::vector<guarded> gpu_data, out;
    std::vector<std::vector<uint8_t>> expected;
    std::vector<pfb::source> from, gpu_from;
    std::vector<void*> to, gpu_to;
    for (int port = 0; port < p.ports; port++) {
        std::vector<T> v(samples * p.inputs_per_port * parts);
        for (auto& x : v)
            if constexpr (std::is_same_v<T, float>)
                x = normal(random_bits);
            else
                x = T(random_bits());
        data.push_back(std::move(v));
        gpu_data.emplace_back(data.back());
        expected.emplace_back(results * size_of(p.output));
        out.emplace_back(results * size_of(p.output));
    }
    for (int port = 0; port < p.ports; port++) {
        const size_t counted = port % 2 ? size_t(p.taps - 1) * p.step() : 0;
        from.push_back({ port == lost_port ? nullptr : data[port].data(), counted });
        gpu_from.push_back(
            { port == lost_port ? nullptr : gpu_data[port].data(), counted });
        to.push_back(expected[port].data());
        gpu_to.push_back(out[port].data());
    }
    host->set_gains(gains.data(), on_host);
    kernel->set_gains(gains.data(), s);
    host->execute(from.data(), to.data(), count, on_host);
    kernel->execute(gpu_from.data(), gpu_to.data(), count, s);
    s.synchronize();
    const auto what = "channeliser, " + name_of(p.input) + " to " + name_of(p.output) +
                      ", " + std::to_string(p.channels) + " channels, " +
                      std::to_string(p.inputs()) + " inputs" +
                      (p.inverted ? ", inverted" : "");
    uint64_t clamp_differences = 0, clamped = 0;
    for (int port = 0; port < p.ports; port++) {
        expect(out[port].untouched_around(), what + ", guards");
        if (p.output == sample_type::sc8) {
            const auto got = out[port].values<int8_t>();
            int worst = 0;
            size_t steps = 0;
            for (size_t i = 0; i < got.size(); i++) {
                const int d = std::abs(got[i] - int8_t(expected[port][i]));
                worst = std::max(worst, d);
                steps += d != 0;
            }
            total_outputs += got.size();
            total_steps += steps;
            expect(worst <= 1, what + ": more than one step");
            // at most 1e-4, within 5 standard deviations of a small sample
            const double most = 1e-4 * got.size();
            expect(steps <= most + 5 * std::sqrt(most), what + ": too many steps");
        } else {
            const auto got = out[port].values<float>();
            const auto* want = reinterpret_cast<const float*>(expected[port].data());
            double difference = 0, size = 0;
            for (size_t i = 0; i < got.size(); i++) {
                difference += std::pow(double(got[i]) - want[i], 2);
                size += std::pow(double(want[i]), 2);
            }
            // single precision, and the roundings of a transform add up like noise
            expect(port == lost_port ? difference == 0
                                     : std::sqrt(difference / size) < 1e-6,
                   what + ": error " + std::to_string(std::sqrt(difference / size)));
        }
    }
    const auto host_counts = host->clamped(), counts = kernel->clamped();
    expect(counts.samples == host_counts.samples, what + ", counts of -128");
    for (int i = 0; i < p.inputs(); i++) {
        clamped += host_counts.output[i];
        clamp_differences += std::abs(int64_t(counts.output[i] - host_counts.output[i]));
    }
    expect(clamp_differences <= 1 + 1e-3 * clamped, what + ", counts of clamped output");
}

void check_pfbs()
{
    for (auto output : { sample_type::sc8, sample_type::fc32 })
        for (bool inverted : { false, true }) {
            const auto with =
                [&](int channels, int taps, int ports, int inputs, sample_type t) {
                    return pfb::parameters{ channels, taps,   ports,    inputs,
                                            t,        output, inverted, {} };
                };
            check_pfb<int8_t>(with(1024, 8, 2, 2, sample_type::sc8), 37, -1);
            check_pfb<int8_t>(with(64, 4, 3, 1, sample_type::sc8), 300, 1);
            check_pfb<int8_t>(with(256, 8, 2, 3, sample_type::s8), 50, -1);
            check_pfb<int16_t>(with(128, 8, 2, 1, sample_type::sc16), 70, 0);
            check_pfb<int16_t>(with(96, 3, 1, 5, sample_type::s16), 45, -1);
            check_pfb<float>(with(512, 8, 2, 2, sample_type::fc32), 33, 1);
            check_pfb<float>(with(30, 16, 3, 1, sample_type::f32), 61, -1);
            check_pfb<int8_t>(with(32768, 8, 1, 1, sample_type::sc8), 5, -1);
        }
    std::printf("channeliser: %zu of %zu 8-bit numbers differ by a step (%.2g)\n",
                total_steps,
                total_outputs,
                double(total_steps) / total_outputs);
    expect(total_steps <= 1e-4 * total_outputs, "steps of the channeliser");
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
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        std::printf("no GPU: skipped\n");
        return 77;
    }
    std::set<std::string> wanted(argv + 1, argv + argc);
    const bool quick = wanted.erase("quick");
    const auto want = [&](const char* name) {
        return wanted.empty() || wanted.count(name);
    };
    try {
        if (want("product_select"))
            check_product_select();
        if (want("corner_turn"))
            check_corner_turns();
        if (want("pfb"))
            check_pfbs();
        if (want("xengine"))
            check_xengines(quick);
    } catch (const std::exception& e) {
        std::printf("FAILED: %s\n", e.what());
        return 1;
    }
    std::printf("%d comparisons, %d failed\n", comparisons, failures);
    return failures ? 1 : 0;
}
