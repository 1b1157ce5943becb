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
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

/*
 * Functions that programs which check CUDA kernels share. Each program is one source
 * file.
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
 * Keeps the default stream busy for a while, for kernels to be made meanwhile: work that
 * their constructors leave unfinished there comes after later settings, and spoils them.
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

//! Prints the progress at once, for a program that may be cut off.
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

[[maybe_unused]] bool no_gpu()
{
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0)
        return false;
    std::printf("no GPU: skipped\n");
    return true;
}

template <class T>
std::vector<T> random_values(size_t count)
{
    std::vector<T> v(count);
    auto* bytes = reinterpret_cast<uint8_t*>(v.data());
    for (size_t i = 0; i < count * sizeof(T); i++)
        bytes[i] = uint8_t(random_bits());
    return v;
}

//! Numbers that arguments choose; if there are none, all are chosen.
class chosen_numbers
{
public:
    //! Returns whether the argument is name=N, which chooses N.
    bool add_if(const std::string& argument, const std::string& name)
    {
        int number;
        if (std::sscanf(argument.c_str(), (name + "=%d").c_str(), &number) != 1)
            return false;
        d_met[number] = false;
        return true;
    }
    bool wants(int number)
    {
        const auto found = d_met.find(number);
        if (found != d_met.end())
            found->second = true;
        return d_met.empty() || found != d_met.end();
    }
    void add_to(std::set<int>& numbers) const
    {
        for (const auto& [number, met] : d_met)
            numbers.insert(number);
    }
    void expect_all_met(const std::string& name) const
    {
        for (const auto& [number, met] : d_met)
            expect(met, name + "=" + std::to_string(number) + ": nothing to compare");
    }

private:
    std::map<int, bool> d_met;
};

//! A comparison, by the name of the argument that chooses it.
struct part {
    std::string name;
    std::string of; //!< the part that it is also a part of; empty: done by default
    std::function<void(bool quick)> check;
};

/*!
 * Acts as main() of a program: does the parts that its arguments name, by default those
 * that are parts of no other.
 * \param about the comparison, for --help
 * \param numbers those that arguments like name=N choose
 * \return the exit status: 0 all as expected, 1 a difference, 77 no
 * GPU
 */
[[maybe_unused]] int check_parts(int argc,
                                 char** argv,
                                 const std::string& about,
                                 const std::vector<part>& parts,
                                 std::map<std::string, chosen_numbers*> numbers = {})
{
    std::set<std::string> words;
    for (int i = 1; i < argc; i++) {
        bool is_number = false;
        for (auto& [name, chosen] : numbers)
            is_number = is_number || chosen->add_if(argv[i], name);
        if (!is_number)
            words.insert(argv[i]);
    }
    if (words.count("--help") || words.count("-h")) {
        std::printf("%s\n\nArguments, in any order:\n  quick          fewer cases\n",
                    about.c_str());
        for (const auto& p : parts)
            std::printf("  %-14s %s\n",
                        p.name.c_str(),
                        p.of.empty() ? "done by default" : ("a part of " + p.of).c_str());
        for (const auto& [name, chosen] : numbers)
            std::printf("  %-14s only these %s; may be given again\n",
                        (name + "=N").c_str(),
                        name.c_str());
        std::printf("\nExit status: 0 all as expected, 1 a difference, 77 no GPU.\n");
        return 0;
    }
    if (no_gpu())
        return 77;
    const bool quick = words.erase("quick");
    const bool all = words.empty();
    try {
        for (const auto& p : parts)
            if (words.erase(p.name) || (all && p.of.empty())) {
                p.check(quick);
                say_done(p.name);
            }
        for (const auto& word : words)
            expect(false, word + ": not a part");
        for (const auto& [name, chosen] : numbers)
            chosen->expect_all_met(name);
    } catch (const std::exception& e) {
        std::printf("FAILED: %s\n", e.what());
        return 1;
    }
    return summary();
}

} // namespace

#endif /* INCLUDED_APERTURE_TESTS_GPU_CHECK_CUDA_H */
