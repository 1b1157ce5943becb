/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * How many beams the CPU makes in real time: BEST-2's 32 inputs of 20 MHz in 1024
 * channels of 4+4 bits, single polarisation, powers of 64 spectra. Prints a table; with a
 * file name, writes JSON, too. OMP_NUM_THREADS says how many cores.
 *
 * bench_beams_host [INPUTS [MEGAHERTZ [TYPE [FILE.json]]]]
 *
 * A figure is the median of ten calls of 256 spectra after two that do
 * not count. Real time is the bandwidth (complex samples) divided by what is processed in
 * a second.
 */

#include "kernels/beam_power.h"
#include "kernels/host/beam_forming.h"
#include "kernels/host/beam_power.h"
#include <omp.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

using namespace gr::aperture;

namespace {

double now()
{
    return std::chrono::duration<double>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct setup {
    int inputs = 32;
    double bandwidth = 20e6;
    sample_type type = sample_type::sc4;
    static constexpr int channels = 1024, times = 256, blocks = 1, spectra = 64;
};

//! Samples (of each input) a second that become powers of so many beams.
double samples_a_second(const setup& s, int beams, const std::string& vectors)
{
    std::mt19937 random(1);
    std::vector<char> voltages(size_t(s.blocks) * s.channels * s.inputs * s.times *
                               size_of(s.type));
    if (s.type == sample_type::fc32)
        for (size_t i = 0; i < voltages.size() / sizeof(float); i++)
            reinterpret_cast<float*>(voltages.data())[i] = float(random() % 15) - 7;
    else
        for (auto& v : voltages)
            v = char(random());
    std::vector<cfloat> weights(size_t(s.channels) * beams * s.inputs);
    for (auto& w : weights)
        w = std::polar(1.f, float(random() % 1000));
    const kernels::detection powers{ kernels::detection::product_set::power,
                                     kernels::detection::feeds::linear,
                                     s.spectra,
                                     1 };
    auto kernel = kernels::host::make_beam_power(
        { s.channels, s.inputs, beams, 0, s.times, s.type, powers }, vectors);
    auto stream = device::select("cpu").make_stream();
    kernel->set_weights(weights.data(), *stream);
    std::vector<float> out(s.blocks * powers.powers(s.channels, beams, s.times));
    const float scale = 1;
    std::vector<double> seconds;
    for (int call = -2; call < 10; call++) {
        const double start = now();
        kernel->execute(voltages.data(), out.data(), s.blocks, { &scale, 1 }, *stream);
        if (call >= 0)
            seconds.push_back(now() - start);
    }
    std::nth_element(seconds.begin(), seconds.begin() + 5, seconds.end());
    return double(s.channels) * s.times * s.blocks / seconds[5];
}

} // namespace

int main(int argc, char** argv)
{
    setup s;
    if (argc > 1)
        s.inputs = std::atoi(argv[1]);
    if (argc > 2)
        s.bandwidth = 1e6 * std::atof(argv[2]);
    if (argc > 3)
        s.type = parse_sample_type(
            "TYPE", argv[3], { sample_type::sc4, sample_type::sc8, sample_type::fc32 });
    std::printf(
        "%d threads, %d inputs of %s, %g MHz, %d channels, powers of %d spectra\n\n"
        "| kernel | beams | Msample/s an input | Gop/s | beams in real time |\n"
        "|---|---|---|---|---|\n",
        omp_get_max_threads(),
        s.inputs,
        name_of(s.type).c_str(),
        s.bandwidth / 1e6,
        s.channels,
        s.spectra);
    std::string json;
    const std::string vectors = kernels::host::beam_vectors().front();
    for (int beams : { 16, 32, 64, 96, 128, 192 }) {
        const double rate = samples_a_second(s, beams, vectors);
        // what is processed faster than it comes would do for more beams
        const double real_time = beams * rate / s.bandwidth;
        std::printf("| %s | %d | %.1f | %.1f | %.0f |\n",
                    vectors.c_str(),
                    beams,
                    rate / 1e6,
                    8e-9 * rate * beams * s.inputs,
                    real_time);
        std::fflush(stdout);
        json += (json.empty() ? "" : ",\n") + std::string(" {\"kernel\": \"") + vectors +
                "\", \"beams\": " + std::to_string(beams) +
                ", \"samples_a_second\": " + std::to_string(rate) +
                ", \"beams_in_real_time\": " + std::to_string(real_time) + "}";
    }
    if (argc > 4)
        std::ofstream(argv[4]) << "[\n" << json << "\n]\n";
}
