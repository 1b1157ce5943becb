/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/tensor/tables.h"
#include "kernels/pfb/tensor/tensor.cuh"
#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

namespace gr::aperture::kernels::cuda::tensor {

namespace {

using complex = std::complex<double>;

complex phasor_of(int cycles, int parts)
{
    return std::polar(1., -2 * M_PI * (cycles % parts) / parts);
}

uint16_t half_bits(double v) { return __half_as_ushort(__double2half(v * matrix_scale)); }

int ranks_of(int channels) { return std::max(1, channels / points); }

//! Returns what the cosines of a rank's first matrix are multiplied by; see matrix_gain.
double first_gain_of(int ranks, int residue, bool real)
{
    if (residue == 0 && !real)
        return matrix_gain;
    const int points = real ? 2 * radix : radix;
    double products = 0, squares = 0;
    for (int c = 0; c < radix; c++)
        for (int a = 0; a < points; a++) {
            const complex w = phasor_of(a * (ranks * c + residue), ranks * points);
            for (double v : { w.real(), w.imag() }) {
                products += v * __half2float(__double2half(v * matrix_scale));
                squares += v * v;
            }
        }
    return products / squares;
}

constexpr int size = 2 * radix;            // rows of a matrix
using factors = std::pair<double, double>; // factors of the two halves of a word

//! Returns the factors of re and im in the real or the imaginary part of f times (re + i
//! im).
factors part_of(complex f, bool imaginary)
{
    return imaginary ? factors{ f.imag(), f.real() } : factors{ f.real(), -f.imag() };
}

//! Returns the factors in the first matrix of real samples, whose words have samples a
//! and a + 32. The sums of c = 0 and c = 32 are real, and are the two parts of the first
//! row.
factors real_factors(int a, int c, bool imaginary)
{
    const auto factor_of = [&](int n) {
        const complex f = phasor_of(n * c, 2 * radix);
        return imaginary && c == 0 ? (n % 2 ? -1 : 1) : imaginary ? f.imag() : f.real();
    };
    return { factor_of(a), factor_of(a + radix) };
}

//! Returns the column of the first product that becomes word `word` of the second
//! product's operand. Of k16 step word / 8 a lane has two columns.
int second_column(int word) { return word / 8 * 8 + 2 * (word % 4) + word / 4 % 2; }

//! The result of a row of the second matrix: the real or the imaginary part of element d
//! of a segment.
struct output {
    int segment, d;
    bool imaginary;
    output(int row, int second_radix) : imaginary(row % 2)
    {
        const int e = row / 2;
        segment = e / second_radix;
        d = e % second_radix;
    }
};

} // namespace

std::vector<uint16_t> make_matrices(int channels, bool inverted, bool real)
{
    const int ranks = ranks_of(channels);
    const int second_radix = channels / ranks / radix;
    std::vector<uint16_t> all(size_t(ranks) * 2 * size * size);
    const auto put = [&](int matrix, int row, int pair, factors f) {
        const int word = (pair / 4 ^ row % 8) * 4 + pair % 4;
        auto* to = &all[(size_t(matrix) * size + row) * size + 2 * word];
        to[0] = half_bits(f.first);
        to[1] = half_bits(f.second);
    };
    for (int i = 0; i < ranks * size * radix; i++) {
        const int rank = i / (size * radix), row = i / radix % size, pair = i % radix;
        const int c =
            ranks * (row / 16 * 8 + row % 8) + residue_of(rank, ranks, inverted);
        const int a = a_of_word(pair, second_radix, rank, ranks);
        // see cluster_place::store()
        const double sign = ranks == 8 && rank >= 6 ? -1 : 1;
        const bool imaginary = row / 8 % 2;
        const auto f = part_of(sign * phasor_of(a * c, ranks * radix), imaginary);
        put(2 * rank,
            row,
            pair,
            real ? real_factors(a, c, imaginary)
                 : factors{ f.first, inverted ? -f.second : f.second });
        const auto [segment, b] = column_of(second_column(pair), second_radix, ranks);
        const output out(row, second_radix);
        if (out.segment != segment)
            continue;
        const auto g = part_of(phasor_of(b * out.d, second_radix), out.imaginary);
        // The channels above the middle of the band are mirrored, and therefore
        // conjugated.
        const bool negative = real && out.imaginary && out.d >= second_radix / 2;
        put(2 * rank + 1, row, pair, negative ? factors{ -g.first, -g.second } : g);
    }
    return all;
}

std::vector<uint16_t> make_first_rows(int channels, bool inverted)
{
    const int second_radix = channels / radix;
    std::vector<uint16_t> all(size_t(size) * size);
    for (size_t i = 0; i < all.size(); i++) {
        const int half = i % 2, word = i / 2 % 4, lane = i / 8 % 32,
                  sixteen = i / 256 % 4, step = int(i / 1024);
        // Rows of eight elements e: their real parts, then their imaginary parts.
        const int row = 2 * (sixteen * 8 + lane / 4) + word % 2;
        const int pair = step * 8 + word / 2 * 4 + lane % 4;
        const auto [segment, b] = column_of(second_column(pair), second_radix);
        const output out(row, second_radix);
        if (out.segment != segment)
            continue;
        // The real part belongs to c = 0, the imaginary part to c = 32; the sums of both
        // are real.
        const bool upper = out.d >= second_radix / 2;
        const int d = inverted && out.d == 0 ? second_radix / 2 : out.d; // y[N]
        const int frequency = upper ? 2 * (second_radix - out.d) - 1 : 2 * d;
        const complex f = phasor_of(b * frequency, 2 * second_radix);
        if (half == upper)
            all[i] = half_bits(out.imaginary ? f.imag() : f.real());
    }
    return all;
}

std::vector<float2> make_twiddles(int channels, bool inverted, bool real)
{
    const int ranks = ranks_of(channels);
    std::vector<float2> all;
    for (int rank = 0; rank < ranks; rank++) {
        const int residue = residue_of(rank, ranks, inverted);
        const double scale =
            twiddle_scale * matrix_gain / first_gain_of(ranks, residue, real);
        for (int step = 0; step < steps; step++)
            for (int thread = 0; thread < consumer_threads; thread++)
                for (int odd = 0; odd < 2; odd++) {
                    const int c = thread / 4, t = thread % 4;
                    const int n = 8 * step + 2 * t + odd;
                    const int b = column_of(n, channels / ranks / radix, ranks).b;
                    const auto w = scale * phasor_of(b * (ranks * c + residue),
                                                     real ? 2 * channels : channels);
                    all.push_back({ float(w.real()), float(w.imag()) });
                }
    }
    return all;
}

double norm_of(const std::vector<float>& prototype)
{
    double squares = 0;
    for (double h : prototype)
        squares += h * h;
    return squares > 0 ? std::sqrt(squares) : 1;
}

double make_whole(std::vector<float>& prototype, int step)
{
    constexpr double most = 32767, most_sum = (1 << 22) - 1, most_sample = 127;
    const double rounding = most_sample * prototype.size() / step / 2; // error
    double largest = 0, largest_sum = 0;
    for (int n = 0; n < step; n++) {
        double sum = 0;
        for (size_t i = n; i < prototype.size(); i += step) {
            const double h = std::abs(prototype[i]);
            largest = std::max(largest, h);
            sum += h;
        }
        largest_sum = std::max(largest_sum, most_sample * sum);
    }
    if (largest == 0)
        return 1;
    const double steps = std::min(most / largest, (most_sum - rounding) / largest_sum);
    for (float& h : prototype)
        h = float(std::round(h * steps));
    return steps * whole_unit;
}

} // namespace gr::aperture::kernels::cuda::tensor
