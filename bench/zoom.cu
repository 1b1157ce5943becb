/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the zoom on a GPU. Of two bounds, each measured in the same run, the smaller one
 * holds: samples are read once and the output is written once, at the rate of a copy; and
 * each tap of each stage is two multiplications and additions in fp32, beside the mixing,
 * at the rate of a kernel that does nothing else.
 */

#include "gpu.cuh"
#include "kernels/common/makers.h"
#include "kernels/zoom/zoom.h"
#include <cstdio>

using kernels::zoom;

namespace {

__global__ void fill_words(uint32_t* words, size_t count)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        words[i] = random_word(i) & 0x3f3f3f3f; // finite as floats, too
}

constexpr int chains = 8, rounds = 4096;

//! Multiplies and adds in fp32 only.
__global__ void multiply_add(float* out, float a, float b)
{
    float v[chains];
    for (int i = 0; i < chains; i++)
        v[i] = float(threadIdx.x + i);
#pragma unroll 16
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < chains; i++)
            v[i] = v[i] * a + b;
    float sum = 0;
    for (int i = 0; i < chains; i++)
        sum += v[i];
    out[blockIdx.x * size_t(blockDim.x) + threadIdx.x] = sum;
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
    const size_t most = size_t(1) << 29; // bytes
    const cuda::device_array<uint32_t> samples(most / 4), out(most / 4);
    fill_words<<<2048, 256, 0, cuda::native(s)>>>(samples.data(), most / 4);
    cuda::check_launch("fill");
    const double copied = copy_rate(s, samples.data(), out.data(), most / 2);
    const int blocks = gpu.multiProcessorCount * 32;
    const double spent = median_time(s, 10, [&] {
        multiply_add<<<blocks, 256, 0, cuda::native(s)>>>(
            reinterpret_cast<float*>(out.data()), 0.999f, 0.5f);
    });
    const double flops = 2. * blocks * 256 * chains * rounds / spent;
    std::printf("%s\n%s\ncopy %.0f GB/s (read plus written), fp32 %.1f Tflop/s\n",
                gpu.name,
                argv[0],
                copied * 1e-9,
                flops * 1e-12);
    std::printf("%6s %10s %8s %12s %12s %12s %9s\n",
                "type",
                "decimation",
                "ms",
                "Gsample/s",
                "by bytes",
                "by fp32",
                "of bound");
    for (const auto type : { sample_type::fc32, sample_type::sc8, sample_type::s8 })
        for (const int decimation : { 2, 8, 16, 17, 64, 256, 4096 }) {
            zoom::parameters p{ 1, 4, type, sample_type::fc32, false, {} };
            p.stages = kernels::design_zoom_filter(decimation, 0.8).stages;
            const auto kernel = cuda::make<zoom>(p, 0);
            kernel->set_oscillator({ 1e5, 1e6 }, s);
            const int64_t count =
                int64_t(most / 8 / size_of(type) / p.inputs()) / decimation;
            const zoom::source from{ samples.data(), 0, false };
            void* to = out.data();
            const double time = median_time(
                s, 10, [&] { kernel->execute(&from, &to, 0, size_t(count), s); });
            const double taken = double(count) * decimation * p.inputs();
            double taps = 0, hop = 1;
            for (const auto& stage : p.stages)
                taps += double(stage.taps.size()) / (hop *= stage.decimation);
            const double bytes = double(size_of(type)) + 8. / decimation;
            const double of_sample = 4 * taps + (is_complex(type) ? 6 : 2);
            const double by_bytes = copied / bytes, by_fp32 = flops / of_sample;
            std::printf("%6s %10d %8.3f %12.1f %12.1f %12.1f %8.0f%%\n",
                        name_of(type).c_str(),
                        decimation,
                        time * 1e3,
                        taken / time * 1e-9,
                        by_bytes * 1e-9,
                        by_fp32 * 1e-9,
                        100 * taken / time / std::min(by_bytes, by_fp32));
        }
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_zoom: %s\n", e.what());
    return 1;
}
