/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Times the kernels that form beams and detect powers without GNU Radio, beside the
 * ceilings of the same run.
 *
 * bench_beams [all] [shapes] [best2] [rest=MS] [json=FILE]
 *             [beams=N inputs=N channels=N times=N]
 * `all` times every implementation that the GPU has, not only the one that is chosen;
 * `shapes` and `best2` time one part of the table; the last four give one shape in its
 * place.
 *
 * A GPU that works for long gets hot, and power makes its clock slower. So everything is
 * timed twice: first each by itself, the median of ten calls after two that do not
 * count, when the GPU has rested for `rest` milliseconds (300), and so have the bounds;
 * and then, when all have been, each in the long run, the median of a quarter of a second
 * of calls one after the other.
 */

#include "beam_bounds.cuh"
#include "kernels/beam_power/beam_power.h"
#include "kernels/beamformer/beamformer.h"
#include "kernels/common/makers.h"
#include "kernels/power_detector/power_detector.h"
#include <cerrno>
#include <cmath>
#include <cstdio>

using namespace gr::aperture::kernels;

namespace {

struct shape {
    int beams, inputs, times, channels;
    double operations() const { return 8. * beams * inputs * times * channels; }
    size_t in(sample_type type) const
    {
        return size_of(type) * inputs * size_t(times) * channels;
    }
    size_t out(sample_type type) const
    {
        return size_of(type) * beams * size_t(times) * channels;
    }
};

//! ccglib's shapes, and those of BEST-2: 32 inputs.
constexpr shape shapes[] = {
    { 128, 64, 4096, 256 },
    { 1024, 256, 4096, 64 },
    { 512, 64, 8192, 64 },
    { 32, 32, 2048, 1024 },
};
constexpr int best2_beams[] = { 64, 512, 1024, 2048, 3072, 4096 };

std::vector<cfloat> some_weights(const shape& x)
{
    std::vector<cfloat> w(size_t(x.channels) * x.beams * x.inputs);
    uint32_t h = 1;
    for (auto& v : w) {
        h = h * 1664525 + 1013904223;
        v = cfloat(float(h >> 16) - 32768, float(h & 65535) - 32768) /
            (32768 * std::sqrt(float(x.inputs)));
    }
    return w;
}

//! A measurement: `calls` in a row. A kernel and its weights are part of `call`.
struct subject {
    shape x;
    std::string what, implementation;
    const void* from;
    size_t in; // bytes
    void* to;
    size_t out;
    std::function<void()> call;
    int calls = 1;

    void all_calls() const
    {
        for (int i = 0; i < calls; i++)
            call();
    }
};

//! Seconds of a call, and of as many reads and writes.
struct timing {
    double rested, bare, longer;
};

//! Times subjects, and keeps their rows for a file.
class table
{
public:
    table(stream& s, int rest_ms, int multiprocessors)
        : d_stream(s), d_rest_ms(rest_ms), d_multiprocessors(multiprocessors)
    {
    }

    //! Prints and returns one timing for each subject.
    std::vector<timing> time(const std::vector<subject>& subjects)
    {
        std::vector<timing> timings;
        std::printf("after a rest of %d ms\n%s      ms   TFLOP/s  bare ms  of bare  "
                    "implementation\n",
                    d_rest_ms,
                    heading);
        for (const auto& what : subjects) {
            rest(d_stream, d_rest_ms);
            const double bare = what.calls * bare_time(d_stream,
                                                       5,
                                                       d_multiprocessors,
                                                       what.from,
                                                       what.in,
                                                       what.to,
                                                       what.out);
            rest(d_stream, d_rest_ms);
            const double seconds = median_time(d_stream, 10, [&] { what.all_calls(); });
            timings.push_back({ seconds, bare, 0 });
            print(what);
            std::printf("%8.3f %9.1f %8.3f %8.2f  %s\n",
                        seconds * 1e3,
                        what.x.operations() / seconds * 1e-12,
                        bare * 1e3,
                        bare / seconds,
                        what.implementation.c_str());
            std::fflush(stdout);
        }
        std::printf("in the long run\n%s      ms   TFLOP/s\n", heading);
        for (size_t i = 0; i < subjects.size(); i++) {
            auto& of = timings[i];
            const int runs = int(std::min(1000., .25 / of.rested));
            of.longer = median_time(d_stream, runs, [&] { subjects[i].all_calls(); });
            print(subjects[i]);
            std::printf("%8.3f %9.1f\n",
                        of.longer * 1e3,
                        subjects[i].x.operations() / of.longer * 1e-12);
            std::fflush(stdout);
            keep(subjects[i], of);
        }
        return timings;
    }

    const std::string& rows() const { return d_rows; }

private:
    static constexpr const char* heading =
        "beams inputs times x channels       what          ";
    stream& d_stream;
    const int d_rest_ms, d_multiprocessors;
    std::string d_rows; // JSON

    static void print(const subject& what)
    {
        const auto& x = what.x;
        std::printf("%5d %5d %6d x %5d  %-18s",
                    x.beams,
                    x.inputs,
                    x.times,
                    x.channels,
                    what.what.c_str());
    }

    void keep(const subject& what, const timing& of)
    {
        const auto& x = what.x;
        char row[512];
        std::snprintf(row,
                      sizeof row,
                      "%s\n    {\"beams\": %d, \"inputs\": %d, \"times\": %d, "
                      "\"channels\": %d, \"what\": \"%s\", \"seconds\": %.6g, "
                      "\"useful_operations_per_second\": %.5g, \"long\": %.5g, "
                      "\"bare_seconds\": %.6g, \"implementation\": \"%s\"}",
                      d_rows.empty() ? "" : ",",
                      x.beams,
                      x.inputs,
                      x.times,
                      x.channels,
                      what.what.c_str(),
                      of.rested,
                      x.operations() / of.rested,
                      x.operations() / of.longer,
                      of.bare,
                      what.implementation.c_str());
        d_rows += row;
    }
};

} // namespace

int main(int argc, char** argv)
try {
    bool all = false, only_shapes = false, only_best2 = false;
    int rest_ms = 300;
    shape only{};
    std::string json;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word == "all")
            all = true;
        else if (word == "shapes")
            only_shapes = true;
        else if (word == "best2")
            only_best2 = true;
        else if (word.rfind("json=", 0) == 0)
            json = word.substr(5);
        else if (!set_number(word, "beams=", only.beams) &&
                 !set_number(word, "inputs=", only.inputs) &&
                 !set_number(word, "channels=", only.channels) &&
                 !set_number(word, "times=", only.times) &&
                 !set_number(word, "rest=", rest_ms))
            throw std::invalid_argument(word + ": allowed are all, shapes, best2, "
                                               "rest=MS, json=FILE, beams=N, inputs=N, "
                                               "channels=N and times=N");
    }
    std::vector<shape> wanted(std::begin(shapes), std::end(shapes));
    const bool one = only.beams && only.inputs && only.channels && only.times;
    if (one)
        wanted = { only };
    else if (only_best2 && !only_shapes)
        wanted.clear();
    size_t most_in = size_t(1) << 30, most_out = size_t(1) << 30;
    for (const auto& x : wanted) {
        most_in = std::max(most_in, x.in(sample_type::sc8));
        most_out = std::max(most_out, x.out(sample_type::fc32));
    }
    cudaDeviceProp gpu;
    cuda::check(cudaGetDeviceProperties(&gpu, 0), "asking for the GPU's name");
    std::string command = argv[0];
    for (int i = 1; i < argc; i++)
        command += std::string(" ") + argv[i];
    const int processors = gpu.multiProcessorCount;

    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    const cuda::device_array<uint8_t> voltages(most_in), beams(most_out);
    const cuda::device_array<float> powers(size_t(1) << 28);
    fill<<<2048, 256, 0, cuda::native(s)>>>(reinterpret_cast<uint32_t*>(voltages.data()),
                                            most_in / 4);
    cuda::check_launch("fill");
    const double copied = copy_rate(s, voltages.data(), beams.data(), size_t(1) << 30);
    const auto [first_rate, hot_rate] = tensor_rates(s, processors, powers.data());
    std::printf(
        "%s\n%s\ncopy %.0f GB/s (read plus written), f16 tensor cores %.0f TFLOP/s "
        "at first, %.0f hot\n",
        gpu.name,
        command.c_str(),
        copied * 1e-9,
        first_rate * 1e-12,
        hot_rate * 1e-12);
    table all_rows(s, rest_ms, processors);
    const float scale = 1;
    using set = detection::product_set;
    const auto powers_of = [&](const shape& x,
                               sample_type type,
                               set products,
                               const std::string& what) {
        const beam_power::parameters p{ x.channels,
                                        x.inputs,
                                        x.beams,
                                        0,
                                        x.times,
                                        type,
                                        { products, detection::feeds::linear, 64, 1 } };
        const std::shared_ptr<beam_power> kernel = cuda::make<beam_power>(p, 0);
        kernel->set_weights(some_weights(x).data(), s);
        const size_t out = sizeof(float) * p.rows() * p.detect.product_count() *
                           (x.times / 64) * size_t(x.channels);
        return subject{
            x,
            what,
            kernel->implementation(),
            voltages.data(),
            x.in(type),
            powers.data(),
            out,
            [&, kernel] {
                kernel->execute(voltages.data(), powers.data(), 1, { &scale, 1 }, s);
            }
        };
    };
    const auto beams_of =
        [&](const shape& x, sample_type output, const std::string& implementation) {
            const beamformer::parameters p{ x.channels, x.inputs,         x.beams,
                                            x.times,    sample_type::sc8, output };
            const std::shared_ptr<beamformer> kernel =
                cuda::make<beamformer>(p, 0, implementation);
            kernel->set_weights(some_weights(x).data(), s);
            const std::vector<float> gains(x.beams, .2f);
            kernel->set_gains(gains.data(), s);
            return subject{ x,
                            "sc8 to " + name_of(output),
                            kernel->implementation(),
                            voltages.data(),
                            x.in(p.input),
                            beams.data(),
                            x.out(output),
                            [&, kernel] {
                                kernel->execute(voltages.data(), beams.data(), 1, s);
                            } };
        };
    const auto detector_of = [&](const shape& x, sample_type type) {
        const power_detector::parameters p{
            x.channels,
            x.beams,
            x.times,
            type,
            { set::intensity, detection::feeds::linear, 64, 1 }
        };
        const std::shared_ptr<power_detector> kernel = cuda::make<power_detector>(p, 0);
        return subject{
            x,
            "detector " + name_of(type),
            kernel->implementation(),
            beams.data(),
            x.out(type),
            powers.data(),
            x.out(sample_type::fc32) / 8 / 32,
            [&, kernel] {
                kernel->execute(beams.data(), powers.data(), 1, { &scale, 1 }, s);
            }
        };
    };
    std::vector<subject> subjects;
    for (const auto& x : wanted) {
        for (auto output : { sample_type::fc32, sample_type::sc8 }) {
            auto names = cuda::implementations<beamformer>(
                { x.channels, x.inputs, x.beams, x.times, sample_type::sc8, output }, 0);
            if (!all)
                names.resize(1);
            for (const auto& name : names)
                subjects.push_back(beams_of(x, output, name));
        }
        subjects.push_back(
            powers_of(x, sample_type::sc8, set::intensity, "beam_power I"));
        subjects.push_back(
            powers_of(x, sample_type::sc8, set::stokes, "beam_power IQUV"));
        for (auto type : { sample_type::fc32, sample_type::sc8 })
            subjects.push_back(detector_of(x, type));
    }
    if (!subjects.empty())
        all_rows.time(subjects);
    subjects.clear();
    if (!one && (only_best2 || !only_shapes)) {
        // 20 MHz in 1024 channels: 19531.25 spectra a second
        std::printf("BEST-2: 32 inputs, 4 bit, 1024 channels of a band of 20 MHz; times "
                    "real time in the long run\n");
        for (int count : best2_beams)
            subjects.push_back(powers_of({ count, 32, 2048, 1024 },
                                         sample_type::sc4,
                                         set::power,
                                         "beam_power sc4"));
        const auto times_real = [&](const std::vector<subject>& of) {
            const auto timings = all_rows.time(of);
            double last = 0;
            for (size_t i = 0; i < of.size(); i++) {
                last = of[i].x.times / 19531.25 / timings[i].longer;
                std::printf("%d beams: %.2f times real time\n", of[i].x.beams, last);
            }
            return last;
        };
        const subject most = subjects.back();
        int parts = int(times_real(subjects));
        // all parts of the largest case that there is time for, on the same voltages
        for (bool enough = false; parts > 0 && !enough; parts--) {
            subject row = most;
            row.x.beams *= parts;
            row.calls = parts;
            enough = times_real({ row }) >= 1;
        }
    }
    if (!json.empty()) {
        auto* file = std::fopen(json.c_str(), "w");
        if (!file)
            throw std::runtime_error(json + ": " + std::strerror(errno));
        std::fprintf(
            file,
            "{\n  \"gpu\": \"%s\",\n  \"command\": \"%s\",\n"
            "  \"copy_bytes_per_second\": %.5g,\n"
            "  \"tensor_operations_per_second\": {\"first\": %.5g, \"hot\": %.5g},\n"
            "  \"beams\": [%s\n  ]\n}\n",
            gpu.name,
            command.c_str(),
            copied,
            first_rate,
            hot_rate,
            all_rows.rows().c_str());
        if (std::fclose(file))
            throw std::runtime_error(json + ": " + std::strerror(errno));
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_beams: %s\n", e.what());
    return 1;
}
