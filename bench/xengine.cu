/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the X-engine's kernels without GNU Radio, beside the ceilings of the same run.
 *
 * bench_xengine [all] [between] [brief] [type=sc8|sc4|fc32] [json=FILE] [rest=MS]
 *               [antennas=N] [channels=N times=N frames=N]
 * First every size's median of ten calls, each after a pause of `rest` milliseconds (300)
 * in which the GPU cools down and its clock recovers; then, of all of them, the median
 * over half a second, when it is hot: `long`, which `brief` leaves out.
 * `all` times every implementation that the GPU has for a size, not only the one that is
 * chosen; `between` takes sizes that fill no tile, `antennas` picks one size of the
 * table, or with the others gives a new one.
 */

#include "gpu.cuh"
#include "kernels/common/makers.h"
#include "kernels/gpu/bulk_copy.cuh"
#include "kernels/xengine/xengine.h"
#if defined(APERTURE_CUDA_SM_90A)
#include "kernels/gpu/wgmma.cuh"
#endif
#include <cerrno>
#include <cstdio>
#include <tuple>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

#if defined(APERTURE_CUDA_SM_90A)
constexpr int warp_groups = 3, products_a_round = 4;

//! Runs tensor cores without any loads, with operands in the X-engine's layout.
__global__ void __launch_bounds__(128 * warp_groups, 1) multiply(int* out, int rounds)
{
    extern __shared__ uint8_t unaligned[];
    const uint32_t memory = (cuda::shared_address(unaligned) + 1023) & ~1023u;
    uint32_t a[4], h = threadIdx.x * 2654435761u ^ blockIdx.x * 40503u;
    const auto next = [&h] { return h = mixed(h); };
    for (uint32_t i = 4 * threadIdx.x; i < 256 * 128; i += 4 * blockDim.x)
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(memory + i), "r"(next()) : "memory");
    for (auto& x : a)
        x = next();
    cuda::fence_async();
    __syncthreads();
    int sums[128] = {};
    const cuda::rows_matrix<1024> b(memory);
    for (int i = 0; i < rounds; i++) {
        cuda::wgmma_fence();
#pragma unroll
        for (int k = 0; k < products_a_round; k++)
            cuda::wgmma<int8_t, 256>(
                sums, a[0], a[1], a[2], a[3], b.descriptor(32 * k), true);
        cuda::wgmma_commit();
        cuda::wgmma_wait<0>();
    }
    int all = 0;
    for (int sum : sums)
        all += sum;
    out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}

//! Returns the operations a second: rested and, if wanted, hot, after about two seconds.
std::pair<double, double> tensor_rates(
    stream& s, int multiprocessors, int* out, int rest_milliseconds, bool want_hot)
{
    constexpr int rounds = 8000, shared = 256 * 128 + 1024;
    cuda::check(cudaFuncSetAttribute(
                    multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
                "shared memory");
    const auto call = [&] {
        multiply<<<multiprocessors, 128 * warp_groups, shared, cuda::native(s)>>>(out,
                                                                                  rounds);
        cuda::check_launch("tensor rate");
    };
    const double operations =
        2. * 64 * 256 * 32 * products_a_round * rounds * warp_groups * multiprocessors;
    rest(s, rest_milliseconds);
    const double first = operations / median_time(s, 3, call);
    if (!want_hot)
        return { first, 0. };
    median_time(s, 120, call);
    return { first, operations / median_time(s, 20, call) };
}
#endif

struct shape {
    int antennas, channels, times, frames;
    int inputs() const { return 2 * antennas; }
    size_t bytes(sample_type type) const
    {
        return size_of(type) * channels * inputs() * times * frames;
    }
};

//! 2 GiB each, in frames of about 128 MB; the table of the Tensor-Core Correlator's
//! figures, arrays of 2048 and 4096 inputs, and sizes between.
constexpr shape shapes[] = {
    { 2, 1024, 16384, 16 }, { 4, 1024, 8192, 16 },  { 5, 1024, 6544, 16 },
    { 8, 1024, 4096, 16 },  { 16, 1024, 2048, 16 }, { 24, 1024, 1360, 16 },
    { 32, 1024, 1024, 16 }, { 64, 512, 1024, 16 },  { 100, 256, 1312, 16 },
    { 128, 256, 1024, 16 }, { 256, 128, 1024, 16 }, { 350, 64, 1488, 16 },
    { 512, 64, 1024, 16 },  { 1024, 32, 1024, 16 }, { 2048, 16, 1024, 16 },
};
constexpr shape shapes_between[] = {
    { 40, 819, 1024, 16 },  { 50, 655, 1024, 16 },  { 66, 496, 1024, 16 },
    { 72, 455, 1024, 16 },  { 80, 409, 1024, 16 },  { 90, 364, 1024, 16 },
    { 96, 341, 1024, 16 },  { 98, 334, 1024, 16 },  { 104, 315, 1024, 16 },
    { 112, 292, 1024, 16 }, { 120, 273, 1024, 16 }, { 132, 248, 1024, 16 },
    { 140, 234, 1024, 16 }, { 150, 218, 1024, 16 }, { 180, 182, 1024, 16 },
    { 200, 163, 1024, 16 }, { 300, 109, 1024, 16 },
};

//! One line of the table; seconds of a call.
struct timing {
    shape of;
    std::string name;
    double rested = 0, hot = 0;

    //! Makes the kernel, and calls use(call).
    template <class Use>
    void with_kernel(sample_type type, const void* voltages, stream& s, Use use) const
    {
        const xengine::parameters p{ of.channels, of.inputs(), of.times, type };
        const auto kernel = cuda::make<xengine>(p, 0, name);
        use([&] { kernel->accumulate(voltages, of.frames, s); });
    }
};

} // namespace

int main(int argc, char** argv)
try {
    bool all = false, between = false, brief = false;
    shape only{};
    std::string json;
    int rest_milliseconds = 300;
    auto type = sample_type::sc8;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word == "all")
            all = true;
        else if (word == "between")
            between = true;
        else if (word == "brief")
            brief = true;
        else if (word.rfind("json=", 0) == 0)
            json = word.substr(5);
        else if (word.rfind("type=", 0) == 0)
            type = parse_sample_type(
                "type",
                word.substr(5),
                { sample_type::sc8, sample_type::sc4, sample_type::fc32 });
        else if (!set_number(word, "antennas=", only.antennas) &&
                 !set_number(word, "rest=", rest_milliseconds) &&
                 !set_number(word, "channels=", only.channels) &&
                 !set_number(word, "times=", only.times) &&
                 !set_number(word, "frames=", only.frames))
            throw std::invalid_argument(
                word + ": allowed are all, between, brief, type=T, json=FILE, rest=MS, "
                       "antennas=N, channels=N, times=N and frames=N");
    }
    std::vector<shape> wanted;
    if (between)
        wanted.assign(std::begin(shapes_between), std::end(shapes_between));
    for (const auto& x : shapes)
        if (!between && (!only.antennas || x.antennas == only.antennas))
            wanted.push_back(x);
    if (only.antennas && only.channels && only.times && only.frames)
        wanted = { only };
    size_t most = size_t(2) << 30;
    for (const auto& x : wanted)
        most = std::max(most, x.bytes(type));
    cudaDeviceProp gpu;
    cuda::check(cudaGetDeviceProperties(&gpu, 0), "asking for the GPU's name");
    std::string command = argv[0];
    for (int i = 1; i < argc; i++)
        command += std::string(" ") + argv[i];

    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const cuda::device_array<uint8_t> voltages(most), other(most);
    const auto fill_with = [&](bool reals) {
        fill<<<2048, 256, 0, cuda::native(s)>>>(
            reinterpret_cast<uint32_t*>(voltages.data()), most / 4, reals);
        cuda::check_launch("fill");
    };
    fill_with(false);
    const auto* from = reinterpret_cast<const uint4*>(voltages.data());
    auto* to = reinterpret_cast<uint4*>(other.data());
    const size_t words = (size_t(2) << 30) / 16;
    const double copied = copy_rate(s, from, to, 16 * words);
    const double read_rate =
        16. * words / median_time(s, 10, [&] {
            read<<<gpu.multiProcessorCount * 8, 256, 0, cuda::native(s)>>>(
                from, reinterpret_cast<uint32_t*>(to), words);
        });
    fill_with(type == sample_type::fc32);

    std::vector<timing> timings;
    for (const auto& x : wanted) {
        auto names =
            cuda::implementations<xengine>({ x.channels, x.inputs(), x.times, type }, 0);
        if (!all)
            names.resize(1);
        for (const auto& name : names)
            timings.push_back({ x, name });
    }
    for (auto& t : timings)
        t.with_kernel(type, voltages.data(), s, [&](const auto& call) {
            rest(s, rest_milliseconds);
            t.rested = median_time(s, 10, call);
        });
    double first_rate = 0, hot_rate = 0;
#if defined(APERTURE_CUDA_SM_90A)
    std::tie(first_rate, hot_rate) = tensor_rates(s,
                                                  gpu.multiProcessorCount,
                                                  reinterpret_cast<int*>(to),
                                                  rest_milliseconds,
                                                  !brief);
#endif
    for (auto& t : timings)
        if (!brief)
            t.with_kernel(type, voltages.data(), s, [&](const auto& call) {
                t.hot = median_time(s, int(std::min(1000., .5 / t.rested)), call);
            });

    std::printf(
        "%s\n%s\nread %.0f GB/s, copy %.0f GB/s (read plus written), int8 tensor cores "
        "%.0f TOP/s rested, %.0f hot; ms and useful TOP/s: rested %d ms before, long: "
        "hot\n",
        gpu.name,
        command.c_str(),
        read_rate * 1e-9,
        copied * 1e-9,
        first_rate * 1e-12,
        hot_rate * 1e-12,
        rest_milliseconds);
    std::printf(
        "antennas inputs channels x times x frames   ms      useful TOP/s   long   bound "
        "fraction  implementation\n");
    // two operations a multiply-add, 128 of them a clock
    int kilohertz = 0;
    cuda::check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "clock");
    const double single_precision_rate =
        2. * 128 * gpu.multiProcessorCount * kilohertz * 1e3;
    const double arithmetic = type == sample_type::fc32 ? single_precision_rate
                              : first_rate > 0          ? first_rate
                                                        : 1e300;
    std::string rows;
    for (const auto& t : timings) {
        const shape& x = t.of;
        const double operations = 8. * x.inputs() * (x.inputs() + 1) / 2 * x.channels *
                                  x.times * double(x.frames);
        const double rate = operations / t.rested;
        const double bound =
            std::min(read_rate * operations / double(x.bytes(type)), arithmetic);
        std::printf("%8d %6d %5d x %5d x %2d %15.3f %12.1f %7.1f %7.0f %8.2f   %s\n",
                    x.antennas,
                    x.inputs(),
                    x.channels,
                    x.times,
                    x.frames,
                    t.rested * 1e3,
                    rate * 1e-12,
                    brief ? 0. : operations / t.hot * 1e-12,
                    bound * 1e-12,
                    rate / bound,
                    t.name.c_str());
        char row[512];
        std::snprintf(row,
                      sizeof row,
                      "%s\n    {\"type\": \"%s\", \"antennas\": %d, \"inputs\": %d, "
                      "\"channels\": %d, "
                      "\"times\": %d, \"frames\": %d, \"seconds\": %.6g, "
                      "\"useful_operations_per_second\": %.5g, "
                      "\"long\": %.5g, \"bound\": %.5g, "
                      "\"implementation\": \"%s\"}",
                      rows.empty() ? "" : ",",
                      name_of(type).c_str(),
                      x.antennas,
                      x.inputs(),
                      x.channels,
                      x.times,
                      x.frames,
                      t.rested,
                      rate,
                      brief ? 0. : operations / t.hot,
                      bound,
                      t.name.c_str());
        rows += row;
    }
    if (!json.empty()) {
        auto* file = std::fopen(json.c_str(), "w");
        if (!file)
            throw std::runtime_error(json + ": " + std::strerror(errno));
        std::fprintf(
            file,
            "{\n  \"gpu\": \"%s\",\n  \"command\": \"%s\",\n"
            "  \"read_bytes_per_second\": %.5g,\n"
            "  \"copy_bytes_per_second\": %.5g,\n"
            "  \"tensor_operations_per_second\": {\"rested\": %.5g, \"hot\": %.5g},\n"
            "  \"rest_milliseconds\": %d,\n"
            "  \"xengine\": [%s\n  ]\n}\n",
            gpu.name,
            command.c_str(),
            read_rate,
            copied,
            first_rate,
            hot_rate,
            rest_milliseconds,
            rows.c_str());
        if (std::fclose(file))
            throw std::runtime_error(json + ": " + std::strerror(errno));
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_xengine: %s\n", e.what());
    return 1;
}
