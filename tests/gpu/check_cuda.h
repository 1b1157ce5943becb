/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_GPU_CHECK_CUDA_H
#define INCLUDED_APERTURE_TESTS_GPU_CHECK_CUDA_H

#include "kernels/gpu/memory.h"
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>

/*
 * What the programs share that check CUDA kernels. Each is one source file.
 */
namespace {

namespace cuda = gr::aperture::kernels::cuda;

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
        cuda::check(cudaStreamSynchronize(nullptr), "guard"); // before other streams
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

/*!
 * Keeps the default stream busy for a while, for kernels to be made meanwhile: what their
 * constructors leave unfinished there comes after what is set next, and spoils it.
 */
[[maybe_unused]] void delay_default_stream()
{
    const auto wait = [](void*) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    };
    cuda::check(cudaLaunchHostFunc(nullptr, wait, nullptr),
                "delaying the default stream");
}

int failures = 0;
int comparisons = 0;

void expect(bool ok, const std::string& what)
{
    comparisons++;
    if (!ok && failures++ < 40) {
        std::printf("FAILED %s\n", what.c_str());
        std::fflush(stdout);
    }
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && !std::memcmp(a.data(), b.data(), a.size() * sizeof(T));
}

std::mt19937 random_bits(1);

//! How far it is: said at once, for a program that may be cut off.
void say_done(const std::string& part)
{
    std::printf("%s: done; %d comparisons so far, %d failed\n",
                part.c_str(),
                comparisons,
                failures);
    std::fflush(stdout);
}

//! Exit status: 0 all as expected, 1 not.
int summary()
{
    std::printf("%d comparisons, %d failed\n", comparisons, failures);
    return failures ? 1 : 0;
}

bool no_gpu()
{
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0)
        return false;
    std::printf("no GPU: skipped\n");
    return true;
}

} // namespace

#endif /* INCLUDED_APERTURE_TESTS_GPU_CHECK_CUDA_H */
