/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Measures how many beams the CPU makes in real time: BEST-2's 32 inputs of 20 MHz in
 * 1024 channels of 4+4 bits, single polarisation, powers of 64 spectra. Prints a table;
 * with a file name, writes JSON, too. OMP_NUM_THREADS says how many cores.
 *
 * bench_beams_host [INPUTS [MEGAHERTZ [TYPE [FILE.json]]]]
 *
 * A figure is the median of ten calls of 1024 spectra after two that do not count. Real
 * time is the bandwidth (complex samples) divided by what is processed in a second; by
 * the clock, and by the time that the processor has spent on it, which is what the clock
 * would show if no other program used it.
 */

#include "kernels/beam_power/beam_power.h"
#include "kernels/beamformer/host_beam_forming.h"
#include "kernels/common/makers.h"
#include "timing.h"
#include <omp.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

using namespace gr::aperture;

namespace {

//! Seconds by the clock, and of the processor in all threads.
struct seconds {
    double clock, processor;

    static seconds now()
    {
        return { gr::aperture::now(), seconds_of(CLOCK_PROCESS_CPUTIME_ID) };
    }
};

struct setup {
    int inputs = 32;
    double bandwidth = 20e6;
    sample_type type = sample_type::sc4;
    static constexpr int channels = 1024, times = 1024, frames = 1, spectra = 64;
};

//! Returns the seconds in which a second of samples becomes powers of so many beams.
seconds seconds_a_second(const setup& s, int beams, const std::string& vectors)
{
    std::mt19937 random(1);
    std::vector<char> voltages(size_t(s.frames) * s.channels * s.inputs * s.times *
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
    auto kernel = kernels::host::make<kernels::beam_power>(
        { s.channels, s.inputs, beams, 0, s.times, s.type, powers }, vectors);
    auto stream = device::select("cpu").make_stream();
    kernel->set_weights(weights.data(), *stream);
    std::vector<float> out(s.frames * powers.powers(s.channels, beams, s.times));
    const float scale = 1;
    std::vector<double> clock, processor;
    for (int call = -2; call < 10; call++) {
        const auto start = seconds::now();
        kernel->execute(voltages.data(), out.data(), s.frames, { &scale, 1 }, *stream);
        const auto end = seconds::now();
        if (call < 0)
            continue;
        clock.push_back(end.clock - start.clock);
        processor.push_back((end.processor - start.processor) / omp_get_max_threads());
    }
    const double samples = double(s.channels) * s.times * s.frames;
    return { median(clock) * s.bandwidth / samples,
             median(processor) * s.bandwidth / samples };
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
        "| kernel | beams | Gop/s | beams in real time | by processor time |\n"
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
        const seconds spent = seconds_a_second(s, beams, vectors);
        // beams beyond these, where samples are processed faster than they come
        std::printf("| %s | %d | %.1f | %.0f | %.0f |\n",
                    vectors.c_str(),
                    beams,
                    8e-9 * s.bandwidth * beams * s.inputs / spent.clock,
                    beams / spent.clock,
                    beams / spent.processor);
        std::fflush(stdout);
        json += (json.empty() ? "" : ",\n") + std::string(" {\"kernel\": \"") + vectors +
                "\", \"beams\": " + std::to_string(beams) +
                ", \"in_real_time\": " + std::to_string(beams / spent.clock) +
                ", \"by_processor_time\": " + std::to_string(beams / spent.processor) +
                "}";
    }
    if (argc > 4)
        std::ofstream(argv[4]) << "[\n" << json << "\n]\n";
}
