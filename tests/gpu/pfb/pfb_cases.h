/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_GPU_PFB_CASES_H
#define INCLUDED_APERTURE_TESTS_GPU_PFB_CASES_H

#include "../check_cuda.h"
#include "kernels/common/makers.h"
#include "kernels/f_engine/f_engine.h"
#include "kernels/pfb/pfb.h"
#include "kernels/pfb/prototype.h"
#include "runtime/host_stream.h"
#include <gnuradio/aperture/device/device.h>
#include <algorithm>
#include <cmath>
#include <cstring>

/*
 * One case of a filter bank on the GPU against the host's. check_pfb compares spectra,
 * check_f_engine frames: each defines checks_frames before it includes this.
 */

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

chosen_numbers chosen_channels;

//! The sample types that a channeliser takes.
constexpr sample_type types_of_samples[] = { sample_type::sc8,  sample_type::s8,
                                             sample_type::sc16, sample_type::s16,
                                             sample_type::fc32, sample_type::f32,
                                             sample_type::sc4,  sample_type::s12,
                                             sample_type::s10 };

//! Returns the types that become 8-bit spectra of so many channels on tensor cores.
std::vector<sample_type> types_on_tensor_cores(int channels)
{
    if (channels > 1024)
        return { sample_type::sc8, sample_type::sc4 };
    return { sample_type::sc8, sample_type::s8, sample_type::sc4 };
}
int most_taps_on_tensor_cores(sample_type type)
{
    return type == sample_type::sc8 ? 16 : 8;
}

//! Samples around, for delays: a multiple of 16 bytes of any type, or calls without
//! delays would be left to another kernel.
constexpr int64_t margin = 64;
static_assert(2 * margin % (8 * 16) == 0, "of any even number of bits");

struct pfb_case {
    pfb::parameters p;
    int spectra;
    int lost_port = -1;
    bool delayed = false;
    bool framed = false; //!< the f_engine writes into a frame with a few times more
    bool all = false;    //!< channels; otherwise most of them
    //! One of the two calls with delays whose results are off the alignment of 16 bytes,
    //! and so another kernel's than the other call's.
    int unaligned_call = -1;
};

//! Components of 8-bit spectra: how many, and how many of them differ by a step.
struct steps {
    size_t all = 0, differ = 0;
    double most; //!< largest fraction that may differ; design.md, section 2
};
steps single_precision{ 0, 0, 1e-4 }, half_precision{ 0, 0, 1e-2 };

//! Returns the counts of an implementation.
steps& totals_of(const std::string& implementation)
{
    return implementation.find("f16") != std::string::npos ? half_precision
                                                           : single_precision;
}

void expect_few(const steps& s, const char* kind)
{
    std::printf("channeliser, %s: %zu of %zu 8-bit numbers differ by a step (%.2g)\n",
                kind,
                s.differ,
                s.all,
                double(s.differ) / std::max<size_t>(s.all, 1));
    expect(s.differ <= s.most * s.all, std::string("steps of the channeliser, ") + kind);
}

bool floating(sample_type type)
{
    return type == sample_type::fc32 || type == sample_type::f32;
}

//! Samples that tell mistakes apart, of all inputs of a port.
std::vector<uint8_t> random_samples(sample_type type, int64_t samples, int inputs)
{
    auto bytes = random_values<uint8_t>(bytes_of(type, samples, inputs));
    std::normal_distribution<float> normal;
    if (floating(type))
        for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
            const float v = normal(random_bits);
            std::memcpy(&bytes[i], &v, sizeof v);
        }
    return bytes;
}

//! Returns gains with which most of 8-bit output fits.
float gain_for(sample_type type)
{
    switch (type) {
    case sample_type::fc32:
    case sample_type::f32:
        return 40;
    case sample_type::sc16:
    case sample_type::s16:
        return 2e-3f;
    case sample_type::s12:
        return .04f;
    case sample_type::s10:
        return .15f;
    case sample_type::sc4:
        return 9;
    default:
        return .6f;
    }
}

std::string name_of(const pfb::parameters& p)
{
    return name_of(p.input) + " to " + name_of(p.output) + ", " +
           std::to_string(p.channels) + " channels, " + std::to_string(p.taps) +
           " taps, " + std::to_string(p.ports) + " ports of " +
           std::to_string(p.inputs_per_port) + " inputs" +
           (p.inverted ? ", inverted" : "");
}

std::vector<cfloat> random_gains(const pfb::parameters& p)
{
    std::vector<cfloat> gains(size_t(p.inputs()) * p.kept_channels());
    std::normal_distribution<float> normal;
    for (auto& g : gains)
        g = gain_for(p.input) * cfloat(normal(random_bits), normal(random_bits));
    return gains;
}

std::vector<delay> random_delays(const pfb::parameters& p)
{
    std::uniform_real_distribution<double> any(-1, 1);
    std::vector<delay> all;
    for (int input = 0; input < p.inputs(); input++)
        all.push_back({ int64_t(random_bits() % 41) - 20,
                        any(random_bits) / 2,
                        any(random_bits) * 1e-3,
                        any(random_bits) * 3,
                        any(random_bits) * .1 });
    return all;
}

void compare_outputs(const std::vector<uint8_t>& got,
                     const std::vector<uint8_t>& expected,
                     sample_type type,
                     steps& totals,
                     const std::string& what)
{
    if (type == sample_type::sc8) {
        int worst = 0;
        size_t steps = 0;
        for (size_t i = 0; i < got.size(); i++) {
            const int d = std::abs(int8_t(got[i]) - int8_t(expected[i]));
            worst = std::max(worst, d);
            steps += d != 0;
        }
        totals.all += got.size();
        totals.differ += steps;
        expect(worst <= 1, what + ": " + std::to_string(worst) + " steps");
        // within 5 standard deviations of a small sample
        const double most = totals.most * got.size();
        expect(steps <= most + 5 * std::sqrt(most),
               what + ": " + std::to_string(steps) + " of " + std::to_string(got.size()) +
                   " differ");
        return;
    }
    const auto* a = reinterpret_cast<const float*>(got.data());
    const auto* b = reinterpret_cast<const float*>(expected.data());
    double difference = 0, size = 0;
    for (size_t i = 0; i < got.size() / sizeof(float); i++) {
        difference += std::pow(double(a[i]) - b[i], 2);
        size += std::pow(double(b[i]), 2);
    }
    // single precision, and the roundings of a transform add up like noise
    expect(size == 0 ? difference == 0 : std::sqrt(difference / size) < 1e-6,
           what + ": error " + std::to_string(std::sqrt(difference / size)));
}

void check_pfb(pfb_case c, bool plain)
{
    auto& p = c.p;
    if (c.framed != checks_frames || !chosen_channels.wants(p.channels))
        return;
    const int64_t samples = p.span(c.spectra);
    const size_t results = size_t(c.spectra) * p.inputs_per_port * p.kept_channels();
    p.prototype = prototype(p.length(), p.taps, "hann");
    auto gains = random_gains(p);
    const auto delays = random_delays(p);

    host_stream on_host;
    const auto own_stream = device::select("cuda").make_stream();
    stream& s = *own_stream;
    std::vector<std::vector<uint8_t>> data;
    std::vector<guarded> gpu_data;
    std::vector<pfb::source> from, gpu_from;
    const size_t before = bytes_of(p.input, margin, p.inputs_per_port);
    for (int port = 0; port < p.ports; port++) {
        data.push_back(random_samples(p.input, samples + 2 * margin, p.inputs_per_port));
        gpu_data.emplace_back(data.back());
    }
    for (int port = 0; port < p.ports; port++) {
        const bool lost = port == c.lost_port;
        const size_t counted = port % 2 ? size_t(p.shared()) : 0;
        from.push_back({ lost ? nullptr : data[port].data() + before, counted });
        gpu_from.push_back(
            { lost ? nullptr : static_cast<uint8_t*>(gpu_data[port].data()) + before,
              counted });
    }
    const auto set = [&](auto& kernel, stream& to) {
        kernel.set_gains(gains.data(), to);
        kernel.set_position(7, to);
        if (c.delayed)
            kernel.set_delays(delays.data(), to);
    };
    auto what = name_of(p) + (c.delayed ? ", delayed" : "");
    // half precision is for an rms of some 20 steps
    const auto prepare_for = [&](const std::string& implementation) -> steps& {
        what = implementation + ", " + what;
        auto& totals = totals_of(implementation);
        if (&totals != &single_precision)
            for (auto& g : gains)
                g *= .3f;
        return totals;
    };
    // a component is clamped on one side only when it is within a small part of a step of
    // the limit: among those beyond the limit, a few hundredths are for each step (Gauss)
    const auto compare_counts =
        [&](const pfb::counts& got, const pfb::counts& want, const steps& totals) {
            expect(got.samples == want.samples, what + ", counts of the lowest number");
            uint64_t differences = 0, clamped = 0;
            for (int i = 0; i < p.inputs(); i++) {
                clamped += want.output[i];
                differences += std::abs(int64_t(got.output[i] - want.output[i]));
            }
            const bool coarse = &totals != &single_precision;
            expect(differences <= (coarse ? 3 + 1e-2 * clamped : 1 + 1e-3 * clamped),
                   what + ", counts of clamped output: " + std::to_string(differences) +
                       " of " + std::to_string(clamped) + " differ");
        };
    if (c.framed) {
        const int first = c.spectra % 2 ? 3 : 16;
        const int skipped = c.all ? 0 : p.channels / 8 + 1;
        const f_engine::parameters f{
            p, (first + c.spectra + 23) / 8 * 8, skipped, p.channels - 2 * skipped
        };
        const auto host = f_engine::make_composed(f, device::select("cpu"));
        const auto kernel = f_engine::make(f, device::select("cuda"));
        auto& totals = prepare_for(kernel->implementation());
        set(*host, on_host);
        set(*kernel, s);
        const size_t bytes = size_t(f.selected_channels) * p.inputs() *
                             f.spectra_per_frame * size_of(p.output);
        // elements that are not written stay as they are
        std::vector<uint8_t> expected(bytes, guard_value);
        const guarded out(bytes);
        host->execute(from.data(), expected.data(), first, c.spectra, on_host);
        kernel->execute(gpu_from.data(), out.data(), first, c.spectra, s);
        s.synchronize();
        compare_outputs(out.values<uint8_t>(), expected, p.output, totals, what);
        expect(out.untouched_around(), what + ", guards");
        compare_counts(kernel->clamped(), host->clamped(), totals);
        return;
    }
    const auto host = host::make<pfb>(p);
    const auto kernel = cuda::make<pfb>(p, 0, plain ? "cuda cufft" : "");
    auto& totals = prepare_for(kernel->implementation());
    set(*host, on_host);
    set(*kernel, s);
    std::vector<std::vector<uint8_t>> expected;
    std::vector<guarded> out;
    std::vector<void*> to, gpu_to;
    for (int port = 0; port < p.ports; port++) {
        expected.emplace_back(results * size_of(p.output), guard_value);
        // now and then off the alignment of 16 bytes
        out.emplace_back(results * size_of(p.output), p.ports == 3 ? 8 : 0);
    }
    for (int port = 0; port < p.ports; port++) {
        to.push_back(expected[port].data());
        gpu_to.push_back(out[port].data());
    }
    // in two calls: delays go on where they were
    const int half = c.delayed ? c.spectra / 2 : 0;
    const std::pair<int, int> calls[] = { { 0, half }, { half, c.spectra - half } };
    std::vector<guarded> aside; // results of the unaligned call
    const size_t line = size_t(p.inputs_per_port) * p.kept_channels() * size_of(p.output);
    if (c.unaligned_call >= 0)
        for (int port = 0; port < p.ports; port++)
            aside.emplace_back(calls[c.unaligned_call].second * line, 8);
    for (auto [first, count] : calls) {
        auto host_from = from, device_from = gpu_from;
        auto host_to = to, device_to = gpu_to;
        for (int port = 0; port < p.ports; port++) {
            const size_t in =
                bytes_of(p.input, int64_t(first) * p.hop(), p.inputs_per_port);
            const size_t done = first * line;
            for (auto* list : { &host_from, &device_from })
                if ((*list)[port].samples)
                    (*list)[port].samples =
                        static_cast<const uint8_t*>((*list)[port].samples) + in;
            host_to[port] = static_cast<uint8_t*>(to[port]) + done;
            device_to[port] = static_cast<uint8_t*>(gpu_to[port]) + done;
            if (!aside.empty() && first == calls[c.unaligned_call].first)
                device_to[port] = aside[port].data();
        }
        if (count)
            host->execute(host_from.data(), host_to.data(), count, on_host);
        kernel->execute(device_from.data(), device_to.data(), count, s);
    }
    s.synchronize();
    for (int port = 0; port < p.ports; port++) {
        auto got = out[port].values<uint8_t>();
        if (!aside.empty()) {
            const auto others = aside[port].values<uint8_t>();
            std::copy(others.begin(),
                      others.end(),
                      got.begin() + calls[c.unaligned_call].first * line);
            expect(aside[port].untouched_around(), what + ", guards");
        }
        compare_outputs(got, expected[port], p.output, totals, what);
        expect(out[port].untouched_around(), what + ", guards");
    }
    compare_counts(kernel->clamped(), host->clamped(), totals);
}

} // namespace

#endif /* INCLUDED_APERTURE_TESTS_GPU_PFB_CASES_H */
