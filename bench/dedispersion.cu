/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times dedispersion without GNU Radio: BEST-2's 864 trials (0 to 86.3 pc/cm^3 in steps
 * of 0.1; 20 MHz at 408 MHz in 1024 channels; 51.2 us) on a GPU and on the CPU, beside
 * what bounds it in the same run.
 *
 * bench_dedispersion [gpu] [host] [beams=N] [json=FILE]
 * `gpu` and `host` time one part; beams: of the cases with many beams (64).
 *
 * Bounds: `adds` is the time that the additions of the method take where each takes one
 * word out of shared memory, at the rate that a loop of nothing else reaches; `bytes`
 * that of reading the powers once and writing the items, at the rate of a copy.
 */

#include "gpu.cuh"
#include "kernels/common/makers.h"
#include "kernels/dedispersion/dedisperser.h"
#include "kernels/dedispersion/sub_bands.h"
#include "runtime/host_stream.h"
#include <cmath>
#include <cstdio>
#include <ctime>

using namespace gr::aperture::kernels;

namespace {

constexpr double sample_time = 51.2e-6;
// table 2 of Magro, Zarb Adami and Hickish 2014, on a Tesla K20
constexpr double paper_seconds = 1.7806, paper_data = 2.52;
constexpr int paper_beams = 4;

//! Adds words of shared memory, 16 a lane at a time, as sum_trials does.
template <class Word>
__global__ void __launch_bounds__(256) only_add(const int* places, Word* to, int rounds)
{
    __shared__ Word words[8192];
    __shared__ int at[64];
    for (int i = threadIdx.x; i < 8192; i += 256)
        words[i] = Word(i);
    if (threadIdx.x < 64)
        at[threadIdx.x] = places[threadIdx.x];
    __syncthreads();
    Word sums[2][16] = {};
    for (int round = 0; round < rounds; round++)
#pragma unroll 2
        for (int i = 0; i < 64; i += 2)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const Word* row = words + at[i + k] + threadIdx.x % 32;
#pragma unroll
                for (int j = 0; j < 16; j++)
                    sums[k][j] += row[32 * j];
            }
    Word all = 0;
    for (int j = 0; j < 16; j++)
        all += sums[0][j] + sums[1][j];
    to[blockIdx.x * 256 + threadIdx.x] = all;
}

//! Returns the words a second that a GPU adds out of shared memory.
template <class Word>
double add_rate(stream& s, int multiprocessors)
{
    const int blocks = multiprocessors * 16, rounds = 200;
    std::vector<int> places;
    for (int i = 0; i < 64; i++)
        places.push_back(i * 977 % 7600);
    cuda::device_array<int> at(64);
    cuda::start_with(at.data(), places);
    cuda::device_array<Word> to(size_t(blocks) * 256);
    return blocks * 256. * rounds * 64 * 16 / median_time(s, 5, [&] {
               only_add<Word>
                   <<<blocks, 256, 0, cuda::native(s)>>>(at.data(), to.data(), rounds);
           });
}

dedisperser::parameters
best2(int beams, int times_per_item, power_type type, bool decimated)
{
    dedisperser::parameters p{
        { 1024, 408e6, 20e6 }, sample_time, { beams, times_per_item, {}, {} }, type, 1
    };
    for (int i = 0; i < 864; i++) {
        p.trials.dms.push_back(i / 10.);
        // the plan of aperture.transients.plan_trials()
        if (decimated)
            p.trials.decimations.push_back(i < 345 ? 1 : i < 819 ? 2 : 4);
    }
    return p;
}

struct work {
    double additions = 0, words = 0; //!< operations for a time and beam
    explicit work(const dedisperser::parameters& p)
    {
        for (const auto& plan : plan_sub_bands(p)) {
            const double once = double(plan.additions()) / plan.decimation;
            const bool two =
                p.type != power_type::f32 && plan.width * plan.decimation * 128 <= 32767;
            additions += once;
            words += two ? once / 2 : once;
        }
    }
};

const char* name_of(power_type type)
{
    return type == power_type::f32 ? "f32" : type == power_type::s8 ? "s8" : "u8";
}

struct bounds {
    double copy, adds, integer_adds; // a second
};

std::string json;

void gpu_case(const char* name,
              stream& s,
              const dedisperser::parameters& p,
              int64_t times,
              const bounds& most)
{
    const auto kernel = cuda::make<dedisperser>(p, 0);
    const size_t in = size_t(times + kernel->longest_delay()) * p.time_bytes();
    const size_t items =
        size_t((times + p.trials.times_per_item - 1) / p.trials.times_per_item);
    cuda::device_array<uint32_t> from(in / 4 + 1);
    cuda::device_array<float> to(items * p.trials.values());
    fill<<<1024, 256, 0, cuda::native(s)>>>(
        from.data(), from.size(), p.type == power_type::f32);
    const double t =
        median_time(s, 5, [&] { kernel->execute(from.data(), to.data(), times, s); });
    const work w(p);
    const double values = double(times) * p.trials.beams;
    const double add_time =
        values * w.words / (p.type == power_type::f32 ? most.adds : most.integer_adds);
    const double byte_time = (values * p.band.channels * size_of(p.type) +
                              4. * p.trials.values() * times / p.trials.times_per_item) /
                             most.copy;
    const double data = times * sample_time;
    std::printf("%-26s %3s %5d %8.3f %9.2f %8.0f %9.2f %9.2f %7.0f%% %9.2f\n",
                name,
                name_of(p.type),
                p.trials.beams,
                data,
                t * 1e3,
                p.trials.beams * data / t,
                add_time * 1e3,
                byte_time * 1e3,
                100 * std::max(add_time, byte_time) / t,
                values * p.trials.trials() * p.band.channels / t * 1e-12);
    std::fflush(stdout);
    char line[400];
    std::snprintf(line,
                  sizeof line,
                  "{\"case\": \"%s\", \"type\": \"%s\", \"beams\": %d, \"data_s\": %.4f, "
                  "\"s\": %.6f, \"beams_in_real_time\": %.1f, \"bound_adds_s\": %.6f, "
                  "\"bound_bytes_s\": %.6f, \"additions_per_time\": %.0f}",
                  name,
                  name_of(p.type),
                  p.trials.beams,
                  data,
                  t,
                  p.trials.beams * data / t,
                  add_time,
                  byte_time,
                  w.additions);
    json += (json.empty() ? "" : ",\n ") + std::string(line);
}

void on_gpu(int beams)
{
    const auto own = device::select("cuda").make_stream();
    stream& s = *own;
    cudaDeviceProp gpu;
    cuda::check(cudaGetDeviceProperties(&gpu, 0), "properties");
    bounds most;
    {
        cuda::device_array<char> a(size_t(1) << 29), b(size_t(1) << 29);
        fill<<<1024, 256, 0, cuda::native(s)>>>(reinterpret_cast<uint32_t*>(a.data()),
                                                a.size() / 4);
        most.copy = copy_rate(s, a.data(), b.data(), a.size());
    }
    most.adds = add_rate<float>(s, gpu.multiProcessorCount);
    most.integer_adds = add_rate<int>(s, gpu.multiProcessorCount);
    std::printf("%s: copy %.2f TB/s; words added out of shared memory: f32 %.2f, integer "
                "%.2f 10^12 a second\n\n",
                gpu.name,
                most.copy * 1e-12,
                most.adds * 1e-12,
                most.integer_adds * 1e-12);
    std::printf("%-26s %3s %5s %8s %9s %8s %9s %9s %8s %9s\n",
                "864 trials, 1024 channels",
                "in",
                "beams",
                "data s",
                "ms",
                "beams RT",
                "adds ms",
                "bytes ms",
                "of bound",
                "T sums/s");
    for (const auto type : { power_type::s8, power_type::f32 })
        for (const bool decimated : { false, true })
            gpu_case(decimated ? "table 2, decimated" : "table 2, full resolution",
                     s,
                     best2(paper_beams, 49219 / 4 * 4, type, decimated),
                     49219 / 4 * 4,
                     most);
    std::printf("%-26s %3s %5d %8.3f %9.2f   (the paper's K20)\n",
                "table 2",
                "f32",
                paper_beams,
                paper_data,
                paper_seconds * 1e3);
    for (const auto type : { power_type::s8, power_type::u8, power_type::f32 })
        for (const bool decimated : { false, true })
            gpu_case(decimated ? "decimated, 4096 an item" : "full, 4096 an item",
                     s,
                     best2(beams, 4096, type, decimated),
                     4 * 4096,
                     most);
    gpu_case("full, 1024 an item, 1 item",
             s,
             best2(beams, 1024, power_type::s8, false),
             1024,
             most);
    gpu_case("full, 8192 an item, 1 item",
             s,
             best2(beams, 8192, power_type::s8, false),
             8192,
             most);
    auto exact = best2(beams, 4096, power_type::s8, false);
    exact.tolerance = 0.5;
    gpu_case("full, tolerance 0.5", s, exact, 4 * 4096, most);
}

double seconds(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

//! Times the CPU, on as many cores as the process may use: taskset chooses them.
void on_host()
{
    std::printf(
        "\nCPU, 1 beam: %-13s %8s %9s %9s %9s\n", "", "data s", "s", "CPU s", "beams RT");
    for (const auto type : { power_type::s8, power_type::f32 })
        for (const bool decimated : { false, true }) {
            const auto p = best2(1, 4096, type, decimated);
            const auto kernel = host::make<dedisperser>(p);
            const int64_t times = 4 * 4096;
            std::vector<char> in(size_t(times + kernel->longest_delay()) *
                                 p.time_bytes());
            for (size_t i = 0; i < in.size() / size_of(type); i++)
                if (type == power_type::f32)
                    reinterpret_cast<float*>(in.data())[i] = float(i * 2654435761u % 255);
                else
                    in[i] = char(i * 2654435761u >> 8);
            std::vector<float> out(4 * p.trials.values());
            host_stream s;
            kernel->execute(in.data(), out.data(), times, s);
            std::vector<double> walls, cpus;
            for (int i = 0; i < 5; i++) {
                const double wall = seconds(CLOCK_MONOTONIC),
                             cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
                kernel->execute(in.data(), out.data(), times, s);
                walls.push_back(seconds(CLOCK_MONOTONIC) - wall);
                cpus.push_back(seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
            }
            std::sort(walls.begin(), walls.end());
            std::sort(cpus.begin(), cpus.end());
            const double data = times * sample_time;
            std::printf("%-10s %-15s %8.3f %9.3f %9.3f %9.1f\n",
                        decimated ? "decimated" : "full",
                        name_of(type),
                        data,
                        walls[2],
                        cpus[2],
                        data / walls[2]);
            std::fflush(stdout);
        }
}

} // namespace

int main(int argc, char** argv)
{
    try {
        bool gpu = false, host = false;
        int beams = 64;
        std::string file;
        for (int i = 1; i < argc; i++) {
            const std::string word = argv[i];
            if (word == "gpu")
                gpu = true;
            else if (word == "host")
                host = true;
            else if (word.rfind("json=", 0) == 0)
                file = word.substr(5);
            else if (!set_number(word, "beams=", beams))
                throw std::invalid_argument(word + ": gpu, host, beams=N or json=FILE");
        }
        if (gpu || !host)
            on_gpu(beams);
        if (host || !gpu)
            on_host();
        if (!file.empty()) {
            FILE* f = std::fopen(file.c_str(), "w");
            if (!f)
                throw std::runtime_error(file + ": cannot be written");
            std::fprintf(f, "[%s]\n", json.c_str());
            std::fclose(f);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
