/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the kernels that form beams and detect powers without GNU Radio, beside the
 * ceilings of the same run.
 *
 * bench_beams [all] [shapes] [best2] [json=FILE] [beams=N inputs=N channels=N times=N]:
 * `all` times every implementation that the GPU has, not only the one that is chosen;
 * `shapes` and `best2` time one part of the table; the others give one shape in its
 * place.
 */

#include "gpu.cuh"
#include "kernels/cuda/beam_power.h"
#include "kernels/cuda/beamformer.h"
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/power_detector.h"
#if defined(APERTURE_CUDA_SM_90A)
#include "kernels/cuda/beamformer_wgmma.cuh"
#include "kernels/cuda/wgmma.cuh"
#endif
#include <cerrno>
#include <cmath>
#include <cstdio>

using namespace gr::aperture::kernels;

namespace {

/*!
 * Nothing but a beamformer's reads and writes: for each `in` words of 16 bytes read,
 * `out` are written.
 */
__global__ void __launch_bounds__(256) read_and_write(const uint4* __restrict__ from,
                                                      uint4* __restrict__ to,
                                                      int in,
                                                      int out,
                                                      size_t groups)
{
    for (size_t group = blockIdx.x; group < groups; group += gridDim.x) {
        const uint4* read = from + group * in * blockDim.x + threadIdx.x;
        uint4* write = to + group * out * blockDim.x + threadIdx.x;
        uint4 all = make_uint4(0, 0, 0, 0);
#pragma unroll 8
        for (int i = 0; i < in; i++) {
            const uint4 v = __ldg(read + i * blockDim.x);
            all.x ^= v.x;
            all.y ^= v.y;
            all.z ^= v.z;
            all.w ^= v.w;
        }
#pragma unroll 8
        for (int i = 0; i < out; i++)
            __stcs(write + i * blockDim.x, all);
    }
}

//! Seconds that it takes to read and write so many bytes, without any arithmetic.
double bare_time(stream& s,
                 int runs,
                 int multiprocessors,
                 const void* from,
                 size_t in,
                 void* to,
                 size_t out)
{
    // in whole words of 16 bytes a thread, in the ratio of the two
    const double ratio = double(out) / double(in);
    int best_in = 1, best_out = 1;
    double best = 1e300;
    for (int i = 1; i <= 16; i++)
        for (int o = 1; o <= 64; o++)
            if (const double off = std::abs(std::log(ratio * i / o)); off < best - 1e-9) {
                best = off;
                best_in = i;
                best_out = o;
            }
    const size_t groups = std::max<size_t>(1, in / (16 * 256 * best_in));
    return median_time(s, runs, [&] {
        read_and_write<<<multiprocessors * 8, 256, 0, cuda::native(s)>>>(
            static_cast<const uint4*>(from),
            static_cast<uint4*>(to),
            best_in,
            best_out,
            groups);
    });
}

#if defined(APERTURE_CUDA_SM_90A)
constexpr int products_a_round = 4;

//! Tensor cores in half precision without any loads.
__global__ void __launch_bounds__(256, 1) multiply(float* out, int rounds)
{
    extern __shared__ uint8_t unaligned[];
    const uint32_t memory = (cuda::shared_address(unaligned) + 1023) & ~1023u;
    uint32_t a[4], h = threadIdx.x * 2654435761u ^ blockIdx.x * 40503u;
    const auto next = [&h] { // two numbers around 1
        h ^= h >> 16;
        h *= 0x7feb352d;
        h ^= h >> 15;
        h *= 0x846ca68b;
        return (h & 0x83ff83ff) | 0x38003800;
    };
    for (uint32_t i = 4 * threadIdx.x; i < 2 * 128 * 64; i += 4 * blockDim.x)
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(memory + i), "r"(next()) : "memory");
    for (auto& x : a)
        x = next();
    cuda::fence_async();
    __syncthreads();
    float sums[2][64] = {};
    const uint64_t b = cuda::half_rows_descriptor(memory);
    for (int i = 0; i < rounds; i++) {
        cuda::wgmma_fence();
#pragma unroll
        for (int k = 0; k < products_a_round; k++)
            cuda::wgmma_half<128>(sums[k / 2], a, b + (k % 2) * (128 * 64 >> 4), true);
        cuda::wgmma_commit();
        cuda::wgmma_wait<0>();
    }
    float all = 0;
    for (const auto& half : sums)
        for (float sum : half)
            all += sum;
    out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}

//! Operations a second: at first, and hot, after about a second.
std::pair<double, double> tensor_rates(stream& s, int multiprocessors, float* out)
{
    constexpr int rounds = 4000, shared = 2 * 128 * 64 + 1024;
    const auto call = [&] {
        multiply<<<multiprocessors, 256, shared, cuda::native(s)>>>(out, rounds);
        cuda::check_launch("tensor rate");
    };
    const double operations =
        2. * 64 * 128 * 16 * products_a_round * rounds * 2 * multiprocessors;
    const double first = operations / median_time(s, 5, call);
    median_time(s, 200, call);
    return { first, operations / median_time(s, 20, call) };
}
#else
std::pair<double, double> tensor_rates(stream&, int, float*) { return { 0, 0 }; }
#endif

struct shape {
    int beams, inputs, times, channels;
    double operations() const { return 8. * beams * inputs * times * channels; }
    size_t in(sample_type type) const
    {
        return size_of(type) * inputs * size_t(times) * channels;
    }
    size_t out(sample_type type) const
    {
        return size_of(type) * beams * size_t(times) * channels;
    }
};

//! ccglib's shapes, and those of BEST-2: 32 inputs.
constexpr shape shapes[] = {
    { 128, 64, 4096, 256 },
    { 1024, 256, 4096, 64 },
    { 512, 64, 8192, 64 },
    { 32, 32, 2048, 1024 },
};
constexpr int best2_beams[] = { 64, 512, 1024, 2048, 3072, 4096 };

std::vector<cfloat> some_weights(const shape& x)
{
    std::vector<cfloat> w(size_t(x.channels) * x.beams * x.inputs);
    uint32_t h = 1;
    for (auto& v : w) {
        h = h * 1664525 + 1013904223;
        v = cfloat(float(h >> 16) - 32768, float(h & 65535) - 32768) /
            (32768 * std::sqrt(float(x.inputs)));
    }
    return w;
}

} // namespace

int main(int argc, char** argv)
try {
    bool all = false, only_shapes = false, only_best2 = false;
    shape only{};
    std::string json;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word == "all")
            all = true;
        else if (word == "shapes")
            only_shapes = true;
        else if (word == "best2")
            only_best2 = true;
        else if (word.rfind("json=", 0) == 0)
            json = word.substr(5);
        else if (!set_number(word, "beams=", only.beams) &&
                 !set_number(word, "inputs=", only.inputs) &&
                 !set_number(word, "channels=", only.channels) &&
                 !set_number(word, "times=", only.times))
            throw std::invalid_argument(word + ": allowed are all, shapes, best2, "
                                               "json=FILE, beams=N, inputs=N, "
                                               "channels=N and times=N");
    }
    std::vector<shape> wanted(std::begin(shapes), std::end(shapes));
    const bool one = only.beams && only.inputs && only.channels && only.times;
    if (one)
        wanted = { only };
    else if (only_best2 && !only_shapes)
        wanted.clear();
    size_t most_in = size_t(1) << 30, most_out = size_t(1) << 30;
    for (const auto& x : wanted) {
        most_in = std::max(most_in, x.in(sample_type::sc8));
        most_out = std::max(most_out, x.out(sample_type::fc32));
    }
    cudaDeviceProp gpu;
    cuda::check(cudaGetDeviceProperties(&gpu, 0), "asking for the GPU's name");
    std::string command = argv[0];
    for (int i = 1; i < argc; i++)
        command += std::string(" ") + argv[i];
    const int processors = gpu.multiProcessorCount;

    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const cuda::device_array<uint8_t> voltages(most_in), beams(most_out);
    const cuda::device_array<float> powers(size_t(1) << 28);
    fill<<<2048, 256, 0, cuda::native(s)>>>(reinterpret_cast<uint32_t*>(voltages.data()),
                                            most_in / 4);
    cuda::check_launch("fill");
    const double copied = copy_rate(s, voltages.data(), beams.data(), size_t(1) << 30);
    const auto [first_rate, hot_rate] = tensor_rates(s, processors, powers.data());
    std::printf(
        "%s\n%s\ncopy %.0f GB/s (read plus written), f16 tensor cores %.0f TFLOP/s "
        "at first, %.0f hot\n"
        "beams inputs times x channels       what               ms   TFLOP/s     "
        "long  bare ms  of bare  implementation\n",
        gpu.name,
        command.c_str(),
        copied * 1e-9,
        first_rate * 1e-12,
        hot_rate * 1e-12);
    std::string rows;
    const auto report = [&](const shape& x,
                            const std::string& what,
                            double bare,
                            const std::string& implementation,
                            const std::function<void()>& call) {
        const double seconds = median_time(s, 10, call);
        // power makes the clock slower in the long run
        const double longer = median_time(s, int(std::min(1000., .25 / seconds)), call);
        std::printf("%5d %5d %6d x %5d  %-18s %8.3f %8.1f %8.1f %8.3f %8.2f   %s\n",
                    x.beams,
                    x.inputs,
                    x.times,
                    x.channels,
                    what.c_str(),
                    seconds * 1e3,
                    x.operations() / seconds * 1e-12,
                    x.operations() / longer * 1e-12,
                    bare * 1e3,
                    bare / seconds,
                    implementation.c_str());
        std::fflush(stdout);
        char row[512];
        std::snprintf(row,
                      sizeof row,
                      "%s\n    {\"beams\": %d, \"inputs\": %d, \"times\": %d, "
                      "\"channels\": %d, \"what\": \"%s\", \"seconds\": %.6g, "
                      "\"useful_operations_per_second\": %.5g, \"long\": %.5g, "
                      "\"bare_seconds\": %.6g, \"implementation\": \"%s\"}",
                      rows.empty() ? "" : ",",
                      x.beams,
                      x.inputs,
                      x.times,
                      x.channels,
                      what.c_str(),
                      seconds,
                      x.operations() / seconds,
                      x.operations() / longer,
                      bare,
                      implementation.c_str());
        rows += row;
        return longer;
    };
    const float scale = 1;
    using set = detection::product_set;
    // seconds of one, and then of as many calls in a row as parts_for() says after each
    const auto time_powers = [&](const shape& x,
                                 sample_type type,
                                 set products,
                                 const std::string& what,
                                 const std::function<int(int, double)>& parts_for) {
        const beam_power::parameters p{ x.channels,
                                        x.inputs,
                                        x.beams,
                                        0,
                                        x.times,
                                        type,
                                        { products, detection::feeds::linear, 64, 1 } };
        const auto kernel = cuda::make_beam_power(p, 0);
        kernel->set_weights(some_weights(x).data(), s);
        const size_t out = sizeof(float) * p.rows() * p.detect.product_count() *
                           (x.times / 64) * size_t(x.channels);
        const double bare =
            bare_time(s, 5, processors, voltages.data(), x.in(type), powers.data(), out);
        for (int parts = 1; parts > 0;) {
            shape all = x;
            all.beams *= parts;
            const double seconds =
                report(all, what, parts * bare, kernel->implementation(), [&] {
                    for (int i = 0; i < parts; i++)
                        kernel->execute(
                            voltages.data(), powers.data(), 1, { &scale, 1 }, s);
                });
            parts = parts_for(parts, seconds);
        }
    };
    const auto time_power = [&](const shape& x, set products, const std::string& what) {
        time_powers(x, sample_type::sc8, products, what, [](int, double) { return 0; });
    };
    for (const auto& x : wanted) {
        for (auto output : { sample_type::fc32, sample_type::sc8 }) {
            const beamformer::parameters p{ x.channels, x.inputs,         x.beams,
                                            x.times,    sample_type::sc8, output };
            auto names = cuda::beamformer_implementations(p, 0);
            if (!all)
                names.resize(1);
            const double bare = bare_time(s,
                                          5,
                                          processors,
                                          voltages.data(),
                                          x.in(p.input),
                                          beams.data(),
                                          x.out(output));
            for (const auto& name : names) {
                const auto kernel = cuda::make_beamformer(p, 0, name);
                kernel->set_weights(some_weights(x).data(), s);
                const std::vector<float> gains(x.beams, .2f);
                kernel->set_gains(gains.data(), s);
                report(
                    x, "sc8 to " + name_of(output), bare, kernel->implementation(), [&] {
                        kernel->execute(voltages.data(), beams.data(), 1, s);
                    });
            }
        }
        time_power(x, set::intensity, "beam_power I");
        time_power(x, set::stokes, "beam_power IQUV");
        for (auto type : { sample_type::fc32, sample_type::sc8 }) {
            const power_detector::parameters p{
                x.channels,
                x.beams,
                x.times,
                type,
                { set::intensity, detection::feeds::linear, 64, 1 }
            };
            const auto kernel = cuda::make_power_detector(p, 0);
            report(x,
                   "detector " + name_of(type),
                   bare_time(s,
                             5,
                             processors,
                             beams.data(),
                             x.out(type),
                             powers.data(),
                             x.out(sample_type::fc32) / 8 / 32),
                   kernel->implementation(),
                   [&] {
                       kernel->execute(beams.data(), powers.data(), 1, { &scale, 1 }, s);
                   });
        }
    }
    if (!one && (only_best2 || !only_shapes)) {
        // 20 MHz in 1024 channels: 19531.25 spectra a second
        std::printf("BEST-2: 32 inputs, 4 bit, 1024 channels of a band of 20 MHz\n");
        for (int count : best2_beams) {
            const shape x{ count, 32, 2048, 1024 };
            const bool most = count == best2_beams[std::size(best2_beams) - 1];
            const auto parts_for = [&](int parts, double seconds) {
                const double times_real = x.times / 19531.25 / seconds;
                std::printf(
                    "%d beams: %.2f times real time\n", parts * count, times_real);
                // as many kernels, one after the other on the same voltages, as there is
                // time for
                return !most            ? 0
                       : parts == 1     ? int(times_real)
                       : times_real < 1 ? parts - 1
                                        : 0;
            };
            time_powers(x, sample_type::sc4, set::power, "beam_power sc4", parts_for);
        }
    }
    if (!json.empty()) {
        auto* file = std::fopen(json.c_str(), "w");
        if (!file)
            throw std::runtime_error(json + ": " + std::strerror(errno));
        std::fprintf(
            file,
            "{\n  \"gpu\": \"%s\",\n  \"command\": \"%s\",\n"
            "  \"copy_bytes_per_second\": %.5g,\n"
            "  \"tensor_operations_per_second\": {\"first\": %.5g, \"hot\": %.5g},\n"
            "  \"beams\": [%s\n  ]\n}\n",
            gpu.name,
            command.c_str(),
            copied,
            first_rate,
            hot_rate,
            rows.c_str());
        if (std::fclose(file))
            throw std::runtime_error(json + ": " + std::strerror(errno));
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_beams: %s\n", e.what());
    return 1;
}
