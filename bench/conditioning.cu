/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the power normalizer on a GPU. The bound is the traffic of memory: powers are
 * read once, and the output is written once, at the rate of a copy in the same run.
 */

#include "gpu.cuh"
#include "kernels/common/makers.h"
#include "kernels/conditioning/power_normalizer.h"
#include <cstdio>

using kernels::power_normalizer;

namespace {

__global__ void fill_powers(float* powers, size_t count)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x) {
        const uint32_t h = random_word(i);
        // a sum of four uniform numbers, a mean of 1000 and an rms of 11
        powers[i] = 980 + 20 / 255.f *
                              ((h & 255) + (h >> 8 & 255) + (h >> 16 & 255) + (h >> 24)) /
                              2;
    }
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc > 1)
        throw std::invalid_argument(std::string(argv[1]) + ": no parameter is allowed");
    cudaDeviceProp gpu;
    cuda::check(cudaGetDeviceProperties(&gpu, 0), "asking for the GPU's name");
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const size_t most = size_t(1) << 28; // cells
    const cuda::device_array<float> powers(most), out(most);
    fill_powers<<<2048, 256, 0, cuda::native(s)>>>(powers.data(), most);
    cuda::check_launch("fill");
    const double copied = copy_rate(s, powers.data(), out.data(), size_t(1) << 30);
    std::printf(
        "%s\n%s\ncopy %.0f GB/s (read plus written)\n", gpu.name, argv[0], copied * 1e-9);
    std::printf("%6s %9s %8s %4s %9s %12s %9s %9s\n",
                "beams",
                "channels",
                "segment",
                "type",
                "ms",
                "Gcell/s",
                "GB/s",
                "of bound");
    for (const auto& [beams, channels, segment] : { std::tuple{ 4, 1024, 305 },
                                                    { 4, 1024, 1221 },
                                                    { 64, 1024, 61 },
                                                    { 512, 1024, 61 },
                                                    { 512, 1024, 305 },
                                                    { 32, 8192, 61 },
                                                    { 1, 65536, 61 } })
        for (const bool integers : { false, true }) {
            power_normalizer::parameters p;
            p.beams = beams;
            p.channels = channels;
            p.segment = segment;
            p.integers = integers;
            p.cell_threshold = 20;
            p.channel_threshold = p.spectrum_threshold = 8;
            const auto kernel = cuda::make<power_normalizer>(p, 0);
            for (int i = 0; i < p.segments; i++) // the window is full
                kernel->execute(powers.data(), out.data(), segment, nullptr, s);
            const double time = median_time(s, 10, [&] {
                kernel->execute(powers.data(), out.data(), segment, nullptr, s);
            });
            const double cells = double(segment) * beams * channels;
            const double bytes = cells * (integers ? 5 : 8);
            std::printf("%6d %9d %8d %4s %9.4f %12.1f %9.0f %8.0f%%\n",
                        beams,
                        channels,
                        segment,
                        integers ? "s8" : "f32",
                        time * 1e3,
                        cells / time * 1e-9,
                        bytes / time * 1e-9,
                        100 * bytes / time / copied);
        }
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_conditioning: %s\n", e.what());
    return 1;
}
