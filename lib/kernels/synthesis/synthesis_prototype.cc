/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/synthesis/synthesis_prototype.h"
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gr::aperture::kernels {

namespace {

/*!
 * Solves (A A^T + regularisation) x = b of a symmetric positive matrix in place, by
 * Cholesky's decomposition.
 * \param matrix [size][size], the lower triangle is used
 */
void solve(std::vector<double>& matrix, std::vector<double>& b, int size)
{
    for (int i = 0; i < size; i++) {
        double* row = &matrix[size_t(i) * size];
        for (int j = 0; j <= i; j++) {
            const double* other = &matrix[size_t(j) * size];
            double sum = row[j];
            for (int k = 0; k < j; k++)
                sum -= row[k] * other[k];
            row[j] = i == j ? std::sqrt(std::max(sum, 1e-30)) : sum / other[j];
        }
    }
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= matrix[size_t(i) * size + k] * b[k];
        b[i] /= matrix[size_t(i) * size + i];
    }
    for (int i = size - 1; i >= 0; i--) {
        for (int k = i + 1; k < size; k++)
            b[i] -= matrix[size_t(k) * size + i] * b[k];
        b[i] /= matrix[size_t(i) * size + i];
    }
}

} // namespace

std::vector<double>
resampled_prototype(const std::vector<float>& prototype, int taps, int length, int points)
{
    constexpr int nodes = 6;
    std::vector<double> made(size_t(taps) * points);
    const auto coefficient = [&](int64_t i) {
        return i < 0 || i >= int64_t(prototype.size()) ? 0. : double(prototype[i]);
    };
    double energy = 0;
    for (int64_t a = 0; a < int64_t(made.size()); a++) {
        // the samples begin with the F-engine's: a coefficient is read length / points
        // times as far from the first one
        const int64_t product = a * length;
        const int64_t whole = product / points;
        const double part = double(product % points) / points;
        double sum = 0;
        for (int i = 0; i < nodes; i++) {
            double factor = 1;
            for (int k = 0; k < nodes; k++)
                if (k != i)
                    factor *= (part + nodes / 2 - 1 - k) / (i - k);
            sum += factor * coefficient(whole + i - nodes / 2 + 1);
        }
        made[a] = sum;
        energy += sum * sum;
    }
    for (double& c : made)
        c /= std::sqrt(energy);
    return made;
}

synthesis design_synthesis(const analysis_bank& bank, int taps)
{
    // against coefficients that hardly matter and would grow without bounds
    constexpr double regularisation = 1e-9;
    const int64_t points = bank.points, hop = bank.hop;
    const int64_t length = taps * points;
    // places relative to the first coefficient of the synthesis prototype
    const int64_t begin = (taps - bank.taps) * points / 2;
    const int64_t end = begin + bank.taps * points;
    const auto h = [&](int64_t place) {
        return place < begin || place >= end ? 0. : bank.prototype[place - begin];
    };
    const int reach = (taps + bank.taps) / 2 + 1, equations = 2 * reach + 1;
    std::vector<float> made(length);
    std::vector<double> columns, normal, solution;
    double error = 0;
    for (int64_t residue = 0; residue < hop; residue++) {
        const int unknowns = int((length - residue + hop - 1) / hop);
        // [unknown][equation]
        columns.assign(size_t(unknowns) * equations, 0);
        for (int m = 0; m < unknowns; m++)
            for (int r = -reach; r <= reach; r++)
                columns[size_t(m) * equations + r + reach] =
                    double(points) * h(residue + m * hop - r * points);
        normal.assign(size_t(unknowns) * unknowns, 0);
        solution.resize(unknowns);
        for (int i = 0; i < unknowns; i++) {
            const double* one = &columns[size_t(i) * equations];
            for (int k = 0; k <= i; k++) {
                const double* other = &columns[size_t(k) * equations];
                double sum = 0;
                for (int e = 0; e < equations; e++)
                    sum += one[e] * other[e];
                normal[size_t(i) * unknowns + k] = sum + (i == k ? regularisation : 0);
            }
            solution[i] = one[reach];
        }
        solve(normal, solution, unknowns);
        for (int e = 0; e < equations; e++) {
            double sum = e == reach ? -1 : 0;
            for (int m = 0; m < unknowns; m++)
                sum += solution[m] * columns[size_t(m) * equations + e];
            error += sum * sum;
        }
        for (int m = 0; m < unknowns; m++)
            made[residue + m * hop] = float(solution[m]);
    }
    return { made, 10 * std::log10(std::max(error / double(hop), 1e-30)) };
}

} // namespace gr::aperture::kernels
