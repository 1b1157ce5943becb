/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/complex_vectors.h"
#include "kernels/dedispersion/dispersion.h"
#include "signal/simulator/dispersed_signal.h"
#include "signal/simulator/gaussian_noise.h"
#include "signal/simulator/transforms.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::host {

namespace {

constexpr size_t shortest_transform = 1 << 15;
//! Up to here a transform has four times the points that it loses, for longer ones twice.
constexpr size_t roomy_transform = 1 << 22;
//! Difference of scattering times of neighbouring nodes, as a logarithm.
constexpr double node_distance = 0.1;
constexpr size_t kept_blocks = 2;

} // namespace

dispersed_signal::dispersed_signal(const parameters& p) : d_p(p)
{
    const auto& s = p.source;
    const double low = p.center_frequency - p.sample_rate / 2;
    const double high = low + p.sample_rate;
    const bool dispersed = s.dispersion_measure > 0 && s.pulsed();
    const bool scattered = s.scattering_time > 0 && s.pulsed();
    size_t nodes = 1;
    if (scattered)
        nodes += size_t(std::ceil(
            std::abs(std::log(s.scattering_time_at(high) / s.scattering_time_at(low))) /
            node_distance));
    const double delay = dispersed ? dispersion_delay(s.dispersion_measure, high) : 0;
    for (size_t i = 0; i < nodes; i++) {
        d_nodes.push_back(nodes == 1 ? p.center_frequency
                                     : low + (high - low) * double(i) / (nodes - 1));
        d_envelopes.emplace_back(s,
                                 p.flux,
                                 p.sample_rate,
                                 scattered ? s.scattering_time_at(d_nodes.back()) : 0,
                                 delay);
    }
    if (!dispersed && nodes == 1)
        return;
    const double sweep =
        dispersed ? dispersion_delay(s.dispersion_measure, low, high) * p.sample_rate : 0;
    d_lead = (size_t(sweep) + margin + 2) / 2 * 2;
    const size_t lost = d_lead + margin;
    d_transform = shortest_transform;
    while (d_transform < 4 * lost && d_transform < roomy_transform)
        d_transform *= 2;
    while (d_transform < 2 * lost)
        d_transform *= 2;
    d_length = (d_transform - lost) / 2 * 2;
    make_response();
    d_work = make_fft_buffer(2 * d_transform);
}

void dispersed_signal::make_response()
{
    const auto band = band_response(d_transform, 1.0 / double(d_transform));
    d_response = make_fft_buffer(2 * d_transform);
    const double high = d_p.center_frequency + d_p.sample_rate / 2;
    const double bin = d_p.sample_rate / double(d_transform);
    const double factor = dispersion_delay(d_p.source.dispersion_measure, high);
    for (size_t k = 0; k < d_transform; k++) {
        const auto signed_bin =
            int64_t(k) - (2 * k >= d_transform ? int64_t(d_transform) : 0);
        const double frequency = d_p.center_frequency + double(signed_bin) * bin;
        // K DM (1/f - 1/f_high + (f - f_high)/f_high^2), without cancellation
        const double below = frequency - high;
        const double cycles = factor * below * (below / frequency);
        const double angle = 2 * M_PI * (cycles - std::floor(cycles));
        d_response[2 * k] = float(band[k] * std::cos(angle));
        d_response[2 * k + 1] = float(band[k] * std::sin(angle));
    }
}

double dispersed_signal::weight(size_t node, double frequency) const
{
    if (d_nodes.size() == 1)
        return 1;
    return std::max(0.0,
                    1 - std::abs(frequency - d_nodes[node]) / (d_nodes[1] - d_nodes[0]));
}

bool dispersed_signal::modulated(const pulse_envelope& envelope,
                                 int polarization,
                                 int64_t first,
                                 size_t count,
                                 float* samples)
{
    d_amplitudes.resize(std::max(d_amplitudes.size(), count));
    if (!envelope.fill(first, count, d_amplitudes.data()))
        return false;
    gaussian_noise(d_p.seed,
                   d_p.process[polarization],
                   first,
                   count,
                   reinterpret_cast<cfloat*>(samples));
    multiply(samples, d_amplitudes.data(), count);
    return true;
}

dispersed_signal::block dispersed_signal::make_block(int polarization, int64_t number)
{
    const int64_t first = number * int64_t(d_length) - int64_t(d_lead);
    block made{ number, {} };
    fft_buffer sum;
    const double bin = d_p.sample_rate / double(d_transform);
    for (size_t node = 0; node < d_nodes.size(); node++) {
        if (!modulated(d_envelopes[node], polarization, first, d_transform, d_work.get()))
            continue;
        execute_in_place(transform_of(d_transform).forward, d_work.get());
        if (!sum) {
            sum = make_fft_buffer(2 * d_transform);
            std::fill_n(sum.get(), 2 * d_transform, 0.0f);
        }
        for (size_t k = 0; k < d_transform; k++) {
            const auto signed_bin =
                int64_t(k) - (2 * k >= d_transform ? int64_t(d_transform) : 0);
            const auto w =
                float(weight(node, d_p.center_frequency + double(signed_bin) * bin));
            const float re = w * d_work[2 * k], im = w * d_work[2 * k + 1];
            const float c = d_response[2 * k], s = d_response[2 * k + 1];
            sum[2 * k] += re * c - im * s;
            sum[2 * k + 1] += re * s + im * c;
        }
    }
    if (sum) {
        execute_in_place(transform_of(d_transform).backward, sum.get());
        const float* start = sum.get() + 2 * d_lead;
        made.samples.assign(start, start + 2 * d_length);
    }
    return made;
}

const dispersed_signal::block& dispersed_signal::block_of(int polarization,
                                                          int64_t number)
{
    auto& blocks = d_blocks[size_t(polarization)];
    const auto found = std::find_if(
        blocks.begin(), blocks.end(), [&](const block& b) { return b.number == number; });
    if (found != blocks.end())
        blocks.splice(blocks.begin(), blocks, found);
    else
        blocks.push_front(make_block(polarization, number));
    while (blocks.size() > kept_blocks)
        blocks.pop_back();
    return blocks.front();
}

bool dispersed_signal::read(int polarization, int64_t first, size_t count, float* samples)
{
    if (!band_limited())
        return modulated(d_envelopes[0], polarization, first, count, samples);
    const auto length = int64_t(d_length);
    bool any = false;
    for (int64_t done = 0; done < int64_t(count);) {
        const int64_t sample = first + done;
        const int64_t number = sample / length - (sample % length < 0);
        const int64_t place = sample - number * length;
        const int64_t here = std::min(int64_t(count) - done, length - place);
        const auto& block = block_of(polarization, number);
        if (!block.samples.empty()) {
            if (!any)
                std::fill_n(samples, 2 * count, 0.0f);
            any = true;
            std::copy_n(block.samples.data() + 2 * place, 2 * here, samples + 2 * done);
        }
        done += here;
    }
    return any;
}

} // namespace gr::aperture::kernels::host
