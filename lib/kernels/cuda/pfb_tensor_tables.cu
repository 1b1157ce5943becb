/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/pfb_tensor.cuh"
#include "kernels/cuda/pfb_tensor_tables.h"
#include <algorithm>
#include <cmath>
#include <complex>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {
namespace tensor {

namespace {

using complex = std::complex<double>;

complex phasor_of(int turns, int parts)
{
    return std::polar(1., -2 * M_PI * (turns % parts) / parts);
}

uint16_t half_bits(double v) { return __half_as_ushort(__double2half(v * matrix_scale)); }

int ranks_of(int channels) { return std::max(1, channels / points); }

//! What the cosines of a rank's first matrix are multiplied by; see matrix_gain.
double first_gain_of(int ranks, int residue)
{
    if (residue == 0)
        return matrix_gain;
    double products = 0, squares = 0;
    for (int c = 0; c < radix; c++)
        for (int a = 0; a < radix; a++) {
            const complex w = phasor_of(a * (ranks * c + residue), ranks * radix);
            for (double v : { w.real(), w.imag() }) {
                products += v * __half2float(__double2half(v * matrix_scale));
                squares += v * v;
            }
        }
    return products / squares;
}

} // namespace

std::vector<uint16_t> make_matrices(int channels, bool inverted)
{
    constexpr int size = 2 * radix;
    const int ranks = ranks_of(channels);
    const int second_radix = channels / ranks / radix;
    std::vector<uint16_t> all(size_t(ranks) * 2 * size * size);
    // f times (re + i im) -> the real or the imaginary part
    const auto put =
        [&](int matrix, int row, int pair, complex f, bool imaginary, bool conjugate) {
            const complex real_part = imaginary ? f.imag() : f.real();
            const complex imaginary_part =
                (imaginary ? f.real() : -f.imag()) * (conjugate ? -1 : 1);
            const int word = (pair / 4 ^ row % 8) * 4 + pair % 4;
            auto* to = &all[(size_t(matrix) * size + row) * size + 2 * word];
            to[0] = half_bits(real_part.real());
            to[1] = half_bits(imaginary_part.real());
        };
    for (int i = 0; i < ranks * size * radix; i++) {
        const int rank = i / (size * radix), row = i / radix % size, pair = i % radix;
        const int c =
            ranks * (row / 16 * 8 + row % 8) + residue_of(rank, ranks, inverted);
        const int a = a_of_word(pair, second_radix, rank, ranks);
        // see cluster_place::store()
        const double sign = ranks == 8 && rank >= 6 ? -1 : 1;
        put(2 * rank,
            row,
            pair,
            sign * phasor_of(a * c, ranks * radix),
            row / 8 % 2,
            inverted);
        // of k16 step pair / 8: what a lane has of the first product, two columns
        const int n = pair / 8 * 8 + 2 * (pair % 4) + pair / 4 % 2;
        const auto [segment, b] = column_of(n, second_radix, ranks);
        const int e = row / 8 * 4 + row % 8 / 2;
        const int d = e % second_radix;
        const bool own = e / second_radix == segment;
        put(2 * rank + 1,
            row,
            pair,
            own ? phasor_of(b * d, second_radix) : 0,
            row % 2,
            false);
    }
    return all;
}

std::vector<float2> make_twiddles(int channels, bool inverted)
{
    const int ranks = ranks_of(channels);
    std::vector<float2> all;
    for (int rank = 0; rank < ranks; rank++) {
        const int residue = residue_of(rank, ranks, inverted);
        const double scale = twiddle_scale * matrix_gain / first_gain_of(ranks, residue);
        for (int step = 0; step < steps; step++)
            for (int thread = 0; thread < crew_threads; thread++)
                for (int odd = 0; odd < 2; odd++) {
                    const int c = thread / 4, t = thread % 4;
                    const int n = 8 * step + 2 * t + odd;
                    const int b = column_of(n, channels / ranks / radix, ranks).b;
                    const auto w = scale * phasor_of(b * (ranks * c + residue), channels);
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

} // namespace tensor
} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
