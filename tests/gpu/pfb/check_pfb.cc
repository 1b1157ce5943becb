/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the filter banks on the GPU with the host's, and the phases that delays give
 * with the model. Needs no GNU Radio. See --help for the arguments.
 */

namespace {
constexpr bool checks_frames = false;
}

#include "pfb_lists.h"
#include <complex>
#include <cstdlib>
#include <numeric>

namespace {

//! Packs samples from index `first` on: 4, 8, 10 or 12 bits each, the highest first.
std::vector<uint8_t>
packed_numbers(sample_type type, const std::vector<int>& numbers, size_t first)
{
    const int bits = int(bytes_of(type, 8, 1)) / (is_complex(type) ? 2 : 1);
    std::vector<uint8_t> bytes((numbers.size() - first) * bits / 8);
    for (size_t i = 0; i < 8 * bytes.size(); i++) {
        const int bit = numbers[first + i / bits] >> (bits - 1 - i % bits) & 1;
        // only in samples of two bytes the lowest bits come first
        bytes[bits == 16 ? i / 8 ^ 1 : i / 8] |= uint8_t(bit << (7 - i % 8));
    }
    return bytes;
}

/*!
 * Checks the acceptance of delays: the phase of each channel within 1 degree of the
 * model, with the kernels from 8-bit samples to 8-bit spectra. 79.53 us, 2.5 ps and 2.56
 * ns/s are at 1.712 Gsample/s. The samples are noise; over 300 spectra, rounding moves a
 * phase by 0.1 degrees.
 */
void check_delays(sample_type type, int channels, bool inverted)
{
    pfb::parameters p{ channels, 8, 7, 1, type, sample_type::sc8, inverted, {} };
    if (!chosen_channels.wants(p.channels))
        return;
    constexpr double pi = 3.14159265358979;
    const double drift = 2.56e-9 * p.hop();
    const bool sc4 = type == sample_type::sc4;
    const float gain = sc4 ? 8 : 1;
    const std::vector<delay> delays{ { 0, 0, 0, pi, 0 },
                                     { 136155, .36, 0, -pi, 0 },
                                     { -136155, -.36, 0, 2 * pi / 3, 0 },
                                     { 0, .00428, 0, .01, 0 },
                                     { 2, .75, 0, 0, 0 },
                                     { 1, .2, drift, 0, .2 },
                                     { -3, .5, -drift, 0, -1e-4 } };
    const int spectra = 301, n = p.channels;
    const int64_t around = 136160, samples = int64_t(spectra - 1 + p.taps) * p.hop();
    p.prototype = prototype(p.hop(), p.taps, "hann");
    std::vector<std::vector<uint8_t>> data;
    std::vector<guarded> gpu_data, out;
    std::vector<pfb::source> from, gpu_from;
    std::vector<void*> to;
    std::normal_distribution<float> normal(0, 18 / gain);
    const auto number = [&] {
        const float most = sc4 ? 7 : 127;
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
    const auto kernel = cuda::make<pfb>(p, 0);
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
    host::make<pfb>(p)->execute(from.data(), to_plain.data(), spectra, on_host);
    const int shift = is_complex(type) ? 0 : inverted ? 1 - n / 2 : n / 2;
    double worst = 0;
    for (int i = 0; i < p.ports; i++) {
        const auto got = out[i].values<int8_t>();
        const auto& d = delays[i];
        for (int k = 0; k < n; k++) {
            std::complex<double> sum = 0;
            for (int m = 0; m < spectra; m++) {
                const size_t at = size_t(m) * n + k;
                // whole samples rotate the middle of the band of real ones, for an
                // inverted band the channel below it, and are shifted back
                const double phase =
                    d.phase + d.phase_rate * m -
                    2 * pi * (k - n / 2) / p.hop() * (d.fraction + d.fraction_rate * m) +
                    2 * pi * double(d.samples % p.hop()) * shift / p.hop();
                sum += std::complex<double>(got[2 * at], got[2 * at + 1]) *
                       std::conj(std::complex<double>(plain[i][at])) *
                       std::polar(1., -phase);
            }
            worst = std::max(worst, std::abs(std::arg(sum)) * 180 / pi);
        }
    }
    std::printf("delays, %s%s, %s: phases within %.2f degrees\n",
                name_of(type).c_str(),
                inverted ? ", inverted" : "",
                kernel->implementation().c_str(),
                worst);
    expect(worst <= 1, "phases of delays");
}

/*!
 * Sets, changes and removes delays between calls, from 8-bit samples to 8-bit spectra:
 * calls with delays and without have different kernels.
 */
void check_switched_delays(sample_type type, int channels)
{
    pfb::parameters p{ channels, 8, 2, 1, type, sample_type::sc8, false, {} };
    if (!chosen_channels.wants(p.channels))
        return;
    const std::vector<int> calls{ 5, 33, std::max(8, 8 * 1024 / channels), 12, 1, 40 };
    const int spectra = std::accumulate(calls.begin(), calls.end(), 0);
    p.prototype = prototype(p.hop(), p.taps, "hann");
    auto gains = random_gains(p);
    for (auto& g : gains)
        g *= .3f;
    const auto some = random_delays(p), others = random_delays(p);
    const std::vector<const delay*> delays{ nullptr,       some.data(), some.data(),
                                            others.data(), nullptr,     some.data() };
    const int64_t samples = int64_t(spectra - 1 + p.taps) * p.hop() + 2 * margin;
    const size_t line = size_t(p.channels) * size_of(p.output);
    const auto own_stream = device::select("cuda").make_stream();
    host_stream on_host;
    const auto host = host::make<pfb>(p);
    const auto kernel = cuda::make<pfb>(p, 0);
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
            const size_t before = bytes_of(p.input, margin + first * p.hop(), 1);
            from.push_back({ data[i].data() + before, 0 });
            gpu_from.push_back({ static_cast<uint8_t*>(gpu_data[i].data()) + before, 0 });
            to.push_back(expected[i].data() + first * line);
            gpu_to.push_back(static_cast<uint8_t*>(out[i].data()) + first * line);
        }
        // the second and the third call have the same delays, which go on
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

//! Checks which implementation serves p: on tensor cores those listed, and no others.
void check_name(pfb::parameters p, bool hopper)
{
    if (!chosen_channels.wants(p.channels))
        return;
    const auto types = types_on_tensor_cores(p.channels);
    const bool tensor = hopper && p.channels >= 64 && p.channels <= 8192 &&
                        std::count(types.begin(), types.end(), p.input) &&
                        p.taps <= most_taps_on_tensor_cores(p.input);
    p.prototype = prototype(p.hop(), p.taps, "hann");
    const auto name = cuda::make<pfb>(p, 0)->implementation();
    const auto expected = "cuda tensor f16 fft " + std::to_string(p.channels);
    expect((name == expected) == tensor, name_of(p) + " by " + name);
    const auto framed = f_engine::make({ p, 16, 0, p.channels }, device::select("cuda"))
                            ->implementation();
    expect((framed == expected + ", stored by channel") == tensor,
           name_of(p) + ", framed, by " + framed);
}

void check_names()
{
    cudaDeviceProp gpu;
    cuda::check(cudaGetDeviceProperties(&gpu, 0), "asking for the GPU's architecture");
    for (auto type : types_of_samples)
        for (int n = 32; n <= 16384; n *= 2)
            for (auto [taps, inverted] : { std::pair(8, false),
                                           { 8, true },
                                           { 9, false },
                                           { 16, true },
                                           { 17, false } })
                check_name({ n, taps, 1, 1, type, sample_type::sc8, inverted, {} },
                           gpu.major == 9);
}

void check_pfbs(bool quick)
{
    using type = sample_type;
    check_cases(quick);
    for (int n = 64; n <= 8192; n *= 2)
        for (auto t : types_on_tensor_cores(n)) {
            check_switched_delays(t, n);
            for (bool inverted : { false, true })
                check_delays(t, n, inverted);
        }
    check_names();
    for (int call : { 0, 1 })
        for (auto t : types_on_tensor_cores(1024)) {
            pfb_case c{ { 1024, 8, 2, 1, t, type::sc8, false, {} }, 45, -1, true };
            c.unaligned_call = call;
            check_pfb(c, false);
        }
    expect_few(single_precision, "single precision");
    expect_few(half_precision, "half precision");
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(argc,
                       argv,
                       "check_pfb: the filter banks of a GPU against the host's",
                       { { "pfb", "", check_pfbs },
                         { "small", "pfb", [](bool) { check_small_pfbs(); } } },
                       { { "channels", &chosen_channels } });
}
