/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/baselines.h"
#include "signal/alignment/interruption.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::alignment {

namespace {

using cdouble = std::complex<double>;

//! Returns the inverse of a symmetric positive matrix [row][column], by Gauss and Jordan.
std::vector<double> inverse(std::vector<double> matrix, int size)
{
    std::vector<double> result(size_t(size) * size);
    for (int i = 0; i < size; i++)
        result[size_t(i) * size + i] = 1;
    for (int pivot = 0; pivot < size; pivot++) {
        interruption_point();
        const double scale = 1 / matrix[size_t(pivot) * size + pivot];
        for (int j = 0; j < size; j++) {
            matrix[size_t(pivot) * size + j] *= scale;
            result[size_t(pivot) * size + j] *= scale;
        }
        for (int i = 0; i < size; i++) {
            const double factor = matrix[size_t(i) * size + pivot];
            if (i == pivot || factor == 0)
                continue;
            for (int j = 0; j < size; j++) {
                matrix[size_t(i) * size + j] -= factor * matrix[size_t(pivot) * size + j];
                result[size_t(i) * size + j] -= factor * result[size_t(pivot) * size + j];
            }
        }
    }
    return result;
}

//! Returns g[i] of |coherence| = g[a] g[b]: the eigenvector, with its own diagonal.
std::vector<double> shared_amplitudes(const std::vector<double>& coherences, int inputs)
{
    constexpr int rounds = 200;
    const auto of = [&](int a, int b) { return coherences[size_t(a) * inputs + b]; };
    double mean = 0;
    for (int b = 1; b < inputs; b++)
        for (int a = 0; a < b; a++)
            mean += 2 * of(a, b) / inputs / (inputs - 1);
    std::vector<double> g(inputs, std::sqrt(std::clamp(mean, 1e-9, 1 - 1e-9)));
    if (inputs == 2)
        return g;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < inputs; i++) {
            double sum = 0, squares = 0;
            for (int j = 0; j < inputs; j++)
                if (j != i) {
                    sum += of(i, j) * g[j];
                    squares += g[j] * g[j];
                }
            g[i] = std::clamp(sum / std::max(squares, 1e-12), 1e-6, 1 - 1e-9);
        }
    return g;
}

struct baseline {
    int a, b;
    phase_line line; // line relative to the prediction
    double samples;
};

} // namespace

input_lines solve_baselines(const cross_spectra& spectra,
                            int reference,
                            const std::vector<int>& parents,
                            double most_delay)
{
    const int inputs = spectra.inputs(), channels = spectra.channels();
    input_lines result;
    result.phase.assign(inputs, 0);
    result.delay.assign(inputs, 0);

    // along the tree by which the inputs were found, from its root outwards
    std::vector<char> known(inputs, 0);
    for (int done = 0; done < inputs;) {
        const int before = done;
        for (int i = 0; i < inputs; i++) {
            const int p = parents[i];
            if (known[i] || (p >= 0 && !known[p]))
                continue;
            known[i] = 1;
            done++;
            if (p < 0)
                continue;
            const int a = std::min(p, i), b = std::max(p, i);
            const auto line = fit_phase_line(spectra.coherences(a, b),
                                             spectra.used(a, b),
                                             spectra.samples(a, b),
                                             most_delay);
            const double sign = p == a ? 1 : -1;
            result.phase[i] = result.phase[p] + sign * line.phase;
            result.delay[i] = result.delay[p] + sign * line.delay;
        }
        if (done == before)
            break; // never reached: parents form a tree
    }

    std::vector<baseline> baselines;
    std::vector<double> coherences(size_t(inputs) * inputs, 1);
    for (int b = 1; b < inputs; b++)
        for (int a = 0; a < b; a++) {
            interruption_point();
            auto values = spectra.coherences(a, b);
            const double phase = result.phase[b] - result.phase[a];
            const double delay = result.delay[b] - result.delay[a];
            for (int k = 0; k < channels; k++)
                values[k] *= std::polar(
                    1., -phase + 2 * M_PI * delay * frequency_of(size_t(k), channels));
            const double samples = spectra.samples(a, b);
            const auto line = fit_phase_line(values, spectra.used(a, b), samples, 0);
            baselines.push_back({ a, b, line, samples });
            coherences[size_t(a) * inputs + b] = coherences[size_t(b) * inputs + a] =
                line.coherence * std::cos(line.phase);
        }

    const auto g = shared_amplitudes(coherences, inputs);
    double sum = 1;
    for (const double amplitude : g)
        sum += amplitude * amplitude / (1 - amplitude * amplitude);

    // unknowns: phase and delay of every input but the reference
    const int unknowns = 2 * (inputs - 1);
    const auto index = [&](int i) { return 2 * (i < reference ? i : i - 1); };
    std::vector<double> normal(size_t(unknowns) * unknowns), right(unknowns);
    std::vector<information> weights;
    for (const auto& pair : baselines) {
        const double qa = g[pair.a] * g[pair.a] / (1 - g[pair.a] * g[pair.a]);
        const double qb = g[pair.b] * g[pair.b] / (1 - g[pair.b] * g[pair.b]);
        const double c = std::clamp(pair.line.coherence, 1e-9, 1 - 1e-9);
        const double factor = qa * qb / sum * (1 - c * c) / (c * c);
        information w = pair.line.known;
        for (auto& part : w)
            part *= inputs == 2 ? 1 : factor;
        weights.push_back(w);
        const double moved[] = { w[0] * pair.line.phase + w[1] * pair.line.delay,
                                 w[1] * pair.line.phase + w[2] * pair.line.delay };
        for (const int row : { pair.a, pair.b }) {
            if (row == reference)
                continue;
            for (int part = 0; part < 2; part++)
                right[index(row) + part] += (row == pair.b ? 1 : -1) * moved[part];
            for (const int column : { pair.a, pair.b }) {
                if (column == reference)
                    continue;
                const double sign = row == column ? 1 : -1;
                auto* at = &normal[size_t(index(row)) * unknowns + index(column)];
                at[0] += sign * w[0];
                at[1] += sign * w[1];
                at[unknowns] += sign * w[1];
                at[unknowns + 1] += sign * w[2];
            }
        }
    }
    const auto covariance = inverse(normal, unknowns);
    std::vector<double> phase(inputs), delay(inputs);
    result.sigma_phase.assign(inputs, 0);
    result.sigma_delay.assign(inputs, 0);
    for (int i = 0; i < inputs; i++) {
        if (i == reference)
            continue;
        const auto row = size_t(index(i));
        for (int j = 0; j < unknowns; j++) {
            phase[i] += covariance[row * unknowns + j] * right[j];
            delay[i] += covariance[(row + 1) * unknowns + j] * right[j];
        }
        result.sigma_phase[i] = std::sqrt(covariance[row * unknowns + row]);
        result.sigma_delay[i] = std::sqrt(covariance[(row + 1) * unknowns + row + 1]);
    }

    double phases = 0, delays = 0, all_phases = 0, all_delays = 0;
    for (size_t n = 0; n < baselines.size(); n++) {
        const auto& pair = baselines[n];
        const double of_phase = pair.line.phase - phase[pair.b] + phase[pair.a];
        const double of_delay = pair.line.delay - delay[pair.b] + delay[pair.a];
        phases += weights[n][0] * of_phase * of_phase;
        delays += weights[n][2] * of_delay * of_delay;
        all_phases += weights[n][0];
        all_delays += weights[n][2];
    }
    if (inputs > 2) {
        result.closure_phase = std::sqrt(phases / all_phases);
        result.closure_delay = std::sqrt(delays / all_delays);
    }

    // the predictions were relative to the tree's root
    const double phase0 = result.phase[reference], delay0 = result.delay[reference];
    std::vector<double> signal(inputs);
    for (int i = 0; i < inputs; i++) {
        result.phase[i] = std::remainder(result.phase[i] - phase0 + phase[i], 2 * M_PI);
        result.delay[i] += delay[i] - delay0;
        const auto power = spectra.power(i);
        const auto used = spectra.used(i, i == reference ? (i ? 0 : 1) : reference);
        for (int k = 0; k < channels; k++)
            signal[i] += used[k] ? power[k] : 0;
        signal[i] *= g[i] * g[i];
    }
    for (int i = 0; i < inputs; i++) {
        result.gain.push_back(signal[i] > 0 ? std::sqrt(signal[reference] / signal[i])
                                            : 1);
        result.coherence.push_back(
            i == reference ? 1 : coherences[size_t(i) * inputs + reference]);
    }
    return result;
}

} // namespace gr::aperture::kernels::alignment
