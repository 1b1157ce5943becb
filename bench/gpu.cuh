/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BENCH_GPU_CUH
#define INCLUDED_APERTURE_BENCH_GPU_CUH

#include "kernels/gpu/memory.h"
#include <charconv>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

/*
 * Functions that programs which time kernels on a GPU share. Each program is one source
 * file.
 */
namespace {

using namespace gr::aperture;
namespace cuda = gr::aperture::kernels::cuda;

//! Returns the seconds of one call: the median of `runs` after two that do not count.
double median_time(stream& s, int runs, const std::function<void()>& call)
{
    cudaEvent_t start, stop;
    cuda::check(cudaEventCreate(&start), "event");
    cuda::check(cudaEventCreate(&stop), "event");
    std::vector<float> times;
    for (int i = 0; i < runs + 2; i++) {
        cuda::check(cudaEventRecord(start, cuda::native(s)), "event");
        call();
        cuda::check(cudaEventRecord(stop, cuda::native(s)), "event");
        cuda::check(cudaEventSynchronize(stop), "event");
        float ms;
        cuda::check(cudaEventElapsedTime(&ms, start, stop), "event");
        if (i >= 2)
            times.push_back(ms);
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    return times[runs / 2] * 1e-3;
}

//! Rests the GPU when all work is done, as it lowers its clock after some time of work.
[[maybe_unused]] void rest(stream& s, int milliseconds)
{
    cuda::check(cudaStreamSynchronize(cuda::native(s)), "waiting");
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

//! Mixes bits well, the higher ones best.
[[maybe_unused]] __device__ uint32_t mixed(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x7feb352d;
    h ^= h >> 15;
    return h * 0x846ca68b;
}

[[maybe_unused]] __device__ uint32_t random_word(size_t i)
{
    const uint32_t h = mixed(uint32_t(i) * 2654435761u ^ uint32_t(i >> 32));
    return h ^ h >> 16;
}

//! Fills memory with 8-bit integers within +-127, which are good for sc4, too; or with
//! single precision, 1 to 2.
[[maybe_unused]] __global__ void fill(uint32_t* data, size_t words, bool reals = false)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < words;
         i += size_t(gridDim.x) * blockDim.x) {
        uint32_t h = random_word(i);
        for (int byte = 0; byte < 4; byte++)
            if ((h >> 8 * byte & 0xff) == 0x80)
                h ^= 1u << 8 * byte;
        data[i] = reals ? 0x3f800000 | h >> 9 : h;
    }
}

__global__ void copy(const uint4* __restrict__ from, uint4* __restrict__ to, size_t count)
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

//! Copies as many vectors of 16 bytes as `bytes` has.
void launch_copy(stream& s, const void* from, void* to, size_t bytes)
{
    const size_t words = bytes / 16;
    copy<<<unsigned((words + 1023) / 1024), 256, 0, cuda::native(s)>>>(
        static_cast<const uint4*>(from), static_cast<uint4*>(to), words);
}

//! Returns the bytes a second, read plus written, of a copy of `bytes`, a multiple of 16.
double copy_rate(stream& s, const void* from, void* to, size_t bytes)
{
    return 2. * bytes / median_time(s, 10, [&] { launch_copy(s, from, to, bytes); });
}

[[maybe_unused]] __global__ void
read(const uint4* __restrict__ from, uint32_t* to, size_t count)
{
    uint32_t all = 0;
    const size_t step = size_t(gridDim.x) * blockDim.x;
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    for (; i + 7 * step < count; i += 8 * step) {
        uint4 v[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[k] = from[i + k * step];
#pragma unroll
        for (int k = 0; k < 8; k++)
            all ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    if (all == 0x12345678) // otherwise the compiler would leave the reading out
        *to = all;
}

//! Returns whether the word is "name=" with a number, which must not be negative.
[[maybe_unused]] bool
set_number(const std::string& word, const std::string& name, int& number)
{
    if (word.rfind(name, 0) != 0)
        return false;
    const char *first = word.data() + name.size(), *last = word.data() + word.size();
    const auto [end, error] = std::from_chars(first, last, number);
    if (error != std::errc() || end != last || number < 0)
        throw std::invalid_argument(word + ": allowed are whole numbers from 0 on");
    return true;
}

} // namespace

#endif /* INCLUDED_APERTURE_BENCH_GPU_CUH */
