/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the zoom on one core of the CPU, beside two bounds that are measured in the same
 * run, of which the smaller one holds: the rate at which a thread reads memory, and that
 * at which it multiplies and adds in fp32, with the vectors that the kernel's code gets.
 *
 * bench_zoom_host [seconds=S] [json=FILE]
 *
 * A figure is the median of SECONDS (default 0.5) of calls after as many that do not
 * count as take a fifth of it, by the time of the thread: what the clock would show on a
 * core with nothing else to do. Rates are Msample/s of one input. The operations that
 * count are two for each tap and component, and the mixing.
 */

#include "kernels/common/makers.h"
#include "kernels/common/simd.h"
#include "kernels/zoom/zoom.h"
#include "runtime/host_stream.h"
#include "timing.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using namespace gr::aperture;
using kernels::zoom;

namespace {

double time_of(double seconds, const std::function<void()>& call)
{
    constexpr clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    std::vector<double> spent;
    const double begin = seconds_of(clock);
    while (seconds_of(clock) - begin < .2 * seconds)
        call();
    while (spent.size() < 5 || seconds_of(clock) - begin < 1.2 * seconds) {
        const double start = seconds_of(clock);
        call();
        spent.push_back(seconds_of(clock) - start);
    }
    return median(spent);
}

typedef float vector __attribute__((vector_size(64)));
constexpr int rounds = 100000, chains = 8;
volatile float kept; // the compiler may leave nothing out

//! Multiplies and adds in sums that do not wait for each other.
APERTURE_SIMD float multiply_add(float by, float add)
{
    const vector a = by - vector{}, b = add - vector{};
    vector v[chains] = {};
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < chains; i++)
            v[i] = v[i] * a + b;
    for (int i = 1; i < chains; i++)
        v[0] += v[i];
    return v[0][0] + v[0][7];
}

APERTURE_SIMD uint64_t sum_of(const uint64_t* words, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += words[i];
    return sum;
}

std::vector<char> noise(sample_type type, size_t bytes)
{
    std::mt19937 random(1);
    std::vector<char> made(bytes);
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        const uint32_t word = uint32_t(random());
        const float v = float(word % 255) - 127;
        std::memcpy(&made[at],
                    type == sample_type::fc32 ? static_cast<const void*>(&v) : &word,
                    4);
    }
    return made;
}

} // namespace

int main(int argc, char** argv)
try {
    double seconds = .5;
    std::string file, json;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word.rfind("seconds=", 0) == 0)
            seconds = std::stod(word.substr(8));
        else if (word.rfind("json=", 0) == 0)
            file = word.substr(5);
        else
            throw std::invalid_argument(word + ": expected seconds=S or json=FILE");
    }
    const std::vector<uint64_t> memory(size_t(1) << 26, 1);
    const double read = double(memory.size() * 8) / time_of(seconds, [&] {
                            kept = float(sum_of(memory.data(), memory.size()));
                        });
    const double flops = 2. * rounds * chains * 16 /
                         time_of(seconds, [&] { kept = multiply_add(.999f, .5f); });
    std::printf(
        "read %.1f GB/s, fp32 %.1f Gflop/s, one thread\n\n"
        "| samples | decimation | stages | Msample/s | by bytes | by fp32 | of the "
        "smaller |\n|---|---|---|---|---|---|---|\n",
        read * 1e-9,
        flops * 1e-9);
    for (const auto type : { sample_type::fc32, sample_type::sc8, sample_type::s8 })
        for (const int decimation : { 2, 8, 16, 17, 64, 256, 4096 }) {
            zoom::parameters p{ 1, 1, type, sample_type::fc32, false, {} };
            p.stages = kernels::design_zoom_filter(decimation, .8).stages;
            const auto kernel = kernels::host::make<zoom>(p);
            host_stream s;
            kernel->set_oscillator({ 1e5, 1e6 }, s);
            const int count = std::max(1, 65536 / decimation);
            // calls that go on, out of memory that no cache holds
            const size_t calls = 256;
            const size_t step = size_t(count) * decimation * size_of(type);
            const auto samples =
                noise(type, calls * step + size_t(p.span(1)) * size_of(type));
            std::vector<cfloat> out(count);
            int64_t call = 0;
            const double time = time_of(seconds, [&] {
                const zoom::source from{ samples.data() + size_t(call) % calls * step,
                                         size_t(p.span(1)),
                                         call > 0 };
                void* to = out.data();
                kernel->execute(&from, &to, call++ * count, size_t(count), s);
            });
            std::string stages;
            double taps = 0, hop = 1;
            for (const auto& stage : p.stages) {
                taps += double(stage.taps.size()) / (hop *= stage.decimation);
                stages +=
                    (stages.empty() ? "" : " x ") + std::to_string(stage.decimation);
            }
            const double rate = double(count) * decimation / time;
            const double by_bytes = read / (double(size_of(type)) + 8. / decimation);
            const double by_fp32 = flops / (4 * taps + (is_complex(type) ? 6 : 2));
            const double part = rate / std::min(by_bytes, by_fp32);
            std::printf("| %s | %d | %s | %.0f | %.0f | %.0f | %.0f %% |\n",
                        name_of(type).c_str(),
                        decimation,
                        stages.c_str(),
                        rate * 1e-6,
                        by_bytes * 1e-6,
                        by_fp32 * 1e-6,
                        100 * part);
            std::fflush(stdout);
            json += (json.empty() ? "" : ",\n") + std::string(" {\"samples\": \"") +
                    name_of(type) + "\", \"decimation\": " + std::to_string(decimation) +
                    ", \"rate\": " + std::to_string(rate) +
                    ", \"of_bound\": " + std::to_string(part) + "}";
        }
    if (!file.empty())
        std::ofstream(file) << "[\n" << json << "\n]\n";
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_zoom_host: %s\n", e.what());
    return 1;
}
