/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/simd.h"
#include "signal/alignment/cross_spectra.h"
#include "signal/alignment/interruption.h"
#include "signal/alignment/spectrum.h"
#include <volk/volk.h>
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::alignment {

namespace {

APERTURE_SIMD void add_product(const float* a, const float* b, double* sum, int channels)
{
    for (int i = 0; i < 2 * channels; i += 2) {
        sum[i] += double(a[i] * b[i] + a[i + 1] * b[i + 1]);
        sum[i + 1] += double(a[i + 1] * b[i] - a[i] * b[i + 1]);
    }
}

APERTURE_SIMD void add_power(const float* a, double* sum, int channels)
{
    for (int k = 0; k < channels; k++)
        sum[k] += double(a[2 * k] * a[2 * k] + a[2 * k + 1] * a[2 * k + 1]);
}

//! Rotates: values[k] *= exp(i (phase - 2 pi f_k delay)).
void rotate(cfloat* values, int channels, double phase, double delay)
{
    const auto step = std::polar(1., -2 * M_PI * delay / channels);
    for (int half = 0; half < 2; half++) {
        const int first = half ? channels / 2 : 0;
        const int last = half ? channels : channels / 2;
        auto phasor =
            std::polar(1., phase - 2 * M_PI * delay * frequency_of(first, channels));
        for (int k = first; k < last; k++) {
            const auto p = cfloat(phasor);
            const float re = values[k].real(), im = values[k].imag();
            values[k] = { re * p.real() - im * p.imag(), re * p.imag() + im * p.real() };
            phasor = { phasor.real() * step.real() - phasor.imag() * step.imag(),
                       phasor.real() * step.imag() + phasor.imag() * step.real() };
        }
    }
}

} // namespace

cross_spectra::cross_spectra(int inputs, int channels)
    : d_inputs(inputs),
      d_channels(channels),
      d_window(sine_window(channels)),
      d_window_energy{ 0 },
      d_forward(channels, -1)
{
    for (const float w : d_window)
        d_window_energy.push_back(d_window_energy.back() + double(w) * w);
    for (int i = 0; i < inputs; i++)
        d_values.emplace_back(channels);
    clear();
}

void cross_spectra::clear()
{
    const size_t baselines = size_t(d_inputs) * (d_inputs - 1) / 2;
    d_products.assign(baselines, std::vector<std::complex<double>>(d_channels));
    d_powers.assign(d_inputs, std::vector<double>(d_channels));
    d_together.assign(baselines, 0);
    d_alone.assign(d_inputs, 0);
}

void cross_spectra::fade(double factor)
{
    for (auto& products : d_products)
        for (auto& product : products)
            product *= factor;
    for (auto& powers : d_powers)
        for (auto& power : powers)
            power *= factor;
    for (auto& samples : d_together)
        samples *= factor;
    for (auto& samples : d_alone)
        samples *= factor;
}

void cross_spectra::add(const std::vector<const cfloat*>& samples,
                        int64_t count,
                        const std::vector<alignment_line>& lines,
                        int64_t first,
                        int64_t last)
{
    const int64_t hop = d_channels / 2;
    std::vector<int64_t> begin(d_inputs), end(d_inputs); // limits within a window
    for (int64_t at = first - hop; at < last; at += hop) {
        interruption_point();
        const double middle = double(at) + (d_channels - 1) / 2.;
        const int64_t low = std::max<int64_t>(0, first - at);
        const int64_t high = std::min<int64_t>(d_channels, last - at);
        std::vector<int64_t> start(d_inputs);
        int present = 0;
        for (int i = 0; i < d_inputs; i++) {
            start[i] = at - int64_t(std::llround(lines[i].delay_at(middle)));
            begin[i] = std::clamp(-start[i], low, high);
            end[i] = std::clamp(count - start[i], begin[i], high);
            present += end[i] > begin[i];
        }
        if (present < 2)
            continue;
        for (int i = 0; i < d_inputs; i++) {
            if (end[i] == begin[i])
                continue;
            auto* values = d_values[i].data();
            const auto& line = lines[i];
            std::fill(values, values + begin[i], cfloat(0));
            std::fill(values + end[i], values + d_channels, cfloat(0));
            volk_32fc_32f_multiply_32fc(values + begin[i],
                                        samples[i] + start[i] + begin[i],
                                        d_window.data() + begin[i],
                                        unsigned(end[i] - begin[i]));
            if (line.phase_rate != 0) {
                const double from = -line.phase_rate * (d_channels - 1) / 2.;
                auto phasor = cfloat(std::polar(1., from));
                volk_32fc_s32fc_x2_rotator_32fc(values,
                                                values,
                                                cfloat(std::polar(1., line.phase_rate)),
                                                &phasor,
                                                unsigned(d_channels));
            }
            d_forward.execute(d_values[i]);
            const double rest = line.delay_at(middle) - std::round(line.delay_at(middle));
            const double phase = line.phase_at(middle);
            if (rest != 0 || phase != 0)
                rotate(values, d_channels, std::remainder(phase, 2 * M_PI), rest);
            add_power(
                reinterpret_cast<const float*>(values), d_powers[i].data(), d_channels);
            d_alone[i] += d_window_energy[end[i]] - d_window_energy[begin[i]];
            for (int a = 0; a < i; a++) {
                const int64_t from = std::max(begin[a], begin[i]);
                const int64_t to = std::min(end[a], end[i]);
                if (to <= from)
                    continue;
                add_product(reinterpret_cast<const float*>(d_values[a].data()),
                            reinterpret_cast<const float*>(values),
                            reinterpret_cast<double*>(d_products[baseline(a, i)].data()),
                            d_channels);
                d_together[baseline(a, i)] += d_window_energy[to] - d_window_energy[from];
            }
        }
    }
}

std::vector<std::complex<double>> cross_spectra::coherences(int a, int b) const
{
    std::vector<std::complex<double>> result(d_channels);
    const auto& products = d_products[baseline(a, b)];
    const double together = d_together[baseline(a, b)];
    if (together == 0)
        return result;
    const double scale = std::sqrt(d_alone[a] * d_alone[b]) / together;
    for (int k = 0; k < d_channels; k++) {
        const double powers = d_powers[a][k] * d_powers[b][k];
        if (powers > 0)
            result[k] = products[k] * (scale / std::sqrt(powers));
    }
    return result;
}

double cross_spectra::samples(int a, int b) const
{
    return d_together[baseline(a, b)] / d_channels;
}

std::vector<double> cross_spectra::power(int input) const
{
    auto powers = d_powers[input];
    for (auto& power : powers)
        power /= std::max(d_alone[input], 1.);
    return powers;
}

std::vector<char> cross_spectra::used(int a, int b) const
{
    auto both = used_channels(power(a));
    const auto other = used_channels(power(b));
    for (int k = 0; k < d_channels; k++)
        both[k] = both[k] && other[k];
    // a delay's phase jumps at 0.5 cycles per sample, and the window mixes both sides
    for (int k = d_channels / 2 - 1; k <= d_channels / 2 + 1; k++)
        both[k] = 0;
    return both;
}

} // namespace gr::aperture::kernels::alignment
