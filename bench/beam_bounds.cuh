/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BENCH_BEAM_BOUNDS_CUH
#define INCLUDED_APERTURE_BENCH_BEAM_BOUNDS_CUH

#include "gpu.cuh"
#include <cmath>
#if defined(APERTURE_CUDA_SM_90A)
#include "kernels/gpu/bulk_copy.cuh"
#include "kernels/gpu/wgmma.cuh"
#include "kernels/gpu/wgmma_half.cuh"
#endif

/*
 * Measures the bounds of kernels that form beams: memory and tensor cores.
 */
namespace {

/*!
 * Does only a beamformer's reads and writes: for each `in` words of 16 bytes read, `out`
 * are written, of bits as random as those of beams, as changing bits cost power.
 */
__global__ void __launch_bounds__(256) read_and_write(const uint4* __restrict__ from,
                                                      uint4* __restrict__ to,
                                                      int in,
                                                      int out,
                                                      size_t groups)
{
    const auto next = [](uint32_t bits) { return bits * 747796405u + 2891336453u; };
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
        for (int i = 0; i < out; i++) {
            all = make_uint4(next(all.x), next(all.y), next(all.z), next(all.w));
            __stcs(write + i * blockDim.x, all);
        }
    }
}

//! Returns the seconds of reading and writing so many bytes, without arithmetic.
double bare_time(stream& s,
                 int runs,
                 int multiprocessors,
                 const void* from,
                 size_t in,
                 void* to,
                 size_t out)
{
    // whole words of 16 bytes for a thread, in the ratio of the two
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

//! Runs tensor cores in half precision without any loads.
__global__ void __launch_bounds__(256, 1) multiply(float* out, int rounds)
{
    extern __shared__ uint8_t unaligned[];
    const uint32_t memory = (cuda::shared_address(unaligned) + 1023) & ~1023u;
    uint32_t a[4], h = threadIdx.x * 2654435761u ^ blockIdx.x * 40503u;
    const auto next = [&h] { // two numbers around 1
        h = mixed(h);
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

//! Returns the operations a second: at first, and hot, after about a second.
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

} // namespace

#endif /* INCLUDED_APERTURE_BENCH_BEAM_BOUNDS_CUH */
