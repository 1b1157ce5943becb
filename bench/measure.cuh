/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BENCH_MEASURE_CUH
#define INCLUDED_APERTURE_BENCH_MEASURE_CUH

#include "kernels/cuda/memory.h"
#include <functional>
#include <vector>

namespace gr {
namespace aperture {

//! Seconds of one call: the median of `runs` after two that do not count.
inline double median_time(stream& s, int runs, const std::function<void()>& call)
{
    using kernels::cuda::check;
    cudaEvent_t start, stop;
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&stop), "event");
    std::vector<float> times;
    for (int i = 0; i < runs + 2; i++) {
        check(cudaEventRecord(start, kernels::cuda::native(s)), "event");
        call();
        check(cudaEventRecord(stop, kernels::cuda::native(s)), "event");
        check(cudaEventSynchronize(stop), "event");
        float ms;
        check(cudaEventElapsedTime(&ms, start, stop), "event");
        if (i >= 2)
            times.push_back(ms);
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    return times[runs / 2] * 1e-3;
}

__global__ void
copy_kernel(const uint4* __restrict__ from, uint4* __restrict__ to, size_t count)
{
    const size_t start = blockIdx.x * size_t(blockDim.x) * 4 + threadIdx.x;
    uint4 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (start + k * blockDim.x < count)
            v[k] = from[start + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (start + k * blockDim.x < count)
            to[start + k * blockDim.x] = v[k];
}

//! Bytes a second, read plus written, of a copy of `bytes`.
inline double copy_rate(stream& s, const void* from, void* to, size_t bytes)
{
    const size_t words = bytes / 16;
    return 2. * 16 * words / median_time(s, 10, [&] {
               copy_kernel<<<unsigned((words + 1023) / 1024),
                             256,
                             0,
                             kernels::cuda::native(s)>>>(
                   static_cast<const uint4*>(from), static_cast<uint4*>(to), words);
           });
}

} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_BENCH_MEASURE_CUH */
