/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the pulse search alone, in noise, beside the bound of bytes: each sample is read
 * once, at the rate at which this GPU reads. Prints a table.
 *
 * bench_pulses [beams=N] [trials=N] [times=N] [widest=N]
 *
 * Without arguments it is for 4 and 500 beams of 864 trials of 51.2 us. A time is the
 * median of ten calls of one item after two that do not count. The window of the baseline
 * is full when it begins.
 */

#include "gpu.cuh"
#include "kernels/common/makers.h"
#include "kernels/pulses/pulse_search.h"
#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

using namespace gr::aperture::kernels;

struct shape {
    int beams, trials, times, widest;
};

constexpr double sample_time = 51.2e-6;

void measure(const shape& x, stream& s, double rate)
{
    pulse_search::parameters p{ { x.beams, x.times, std::vector<double>(x.trials), {} },
                                sample_time,
                                4,
                                x.widest,
                                1.1,
                                7,
                                4096 };
    p.check();
    const size_t values = p.trials.values();
    const cuda::device_array<float> item(values);
    fill<<<2048, 256, 0, cuda::native(s)>>>(
        reinterpret_cast<uint32_t*>(item.data()), values, true);
    cuda::check_launch("fill");
    const auto kernel = cuda::make<pulse_search>(p, 0);
    for (int i = 0; i < 4 / sample_time / x.times; i++)
        kernel->search(item.data(), s);
    const auto before = kernel->collect(true);
    const double time = median_time(s, 10, [&] { kernel->search(item.data(), s); });
    uint64_t cells = 0;
    for (const auto& r : kernel->collect(true))
        cells += r.cells.size() + r.left_out;
    const double bound = values * sizeof(float) / rate;
    std::printf("| %d | %d | %d | %d | %.3f | %.3f | %.0f%% | %.1f | %.0f | %llu |\n",
                x.beams,
                x.trials,
                x.times,
                x.widest,
                time * 1e3,
                bound * 1e3,
                100 * bound / time,
                values / time * 1e-9,
                x.times * sample_time / time,
                (unsigned long long)(cells));
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv)
try {
    shape only{ 0, 864, 0, 4096 };
    for (int i = 1; i < argc; i++)
        if (!set_number(argv[i], "beams=", only.beams) &&
            !set_number(argv[i], "trials=", only.trials) &&
            !set_number(argv[i], "times=", only.times) &&
            !set_number(argv[i], "widest=", only.widest))
            throw std::invalid_argument(
                std::string(argv[i]) +
                ": allowed are beams=N, trials=N, times=N and widest=N");
    std::vector<shape> shapes{ { 4, only.trials, 4096, only.widest },
                               { 4, only.trials, 16384, only.widest },
                               { 500, only.trials, 1024, only.widest } };
    if (only.beams)
        shapes = {
            { only.beams, only.trials, only.times ? only.times : 4096, only.widest }
        };
    cudaDeviceProp gpu;
    cuda::check(cudaGetDeviceProperties(&gpu, 0), "asking for the GPU's name");
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const size_t bytes = size_t(2) << 30;
    const cuda::device_array<uint8_t> memory(bytes);
    const cuda::device_array<uint32_t> word(1);
    const double rate =
        bytes / median_time(s, 10, [&] {
            read<<<gpu.multiProcessorCount * 8, 256, 0, cuda::native(s)>>>(
                reinterpret_cast<const uint4*>(memory.data()), word.data(), bytes / 16);
        });
    std::printf(
        "%s, reads %.0f GB/s\n\n"
        "| beams | trials | values each | widest | ms | bound, ms | of the bound | "
        "10^9 values/s | times real time | cells |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n",
        gpu.name,
        rate * 1e-9);
    for (const auto& x : shapes)
        measure(x, s, rate);
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_pulses: %s\n", e.what());
    return 1;
}
