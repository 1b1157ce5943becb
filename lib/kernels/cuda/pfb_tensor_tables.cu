/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/pfb_tensor.cuh"
#include "kernels/cuda/pfb_tensor_tables.h"
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

} // namespace

std::vector<uint16_t> make_matrices(int channels, bool inverted)
{
    constexpr int size = 2 * radix;
    const int second_radix = channels / radix;
    std::vector<uint16_t> all(2 * size * size);
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
    for (int row = 0; row < size; row++)
        for (int pair = 0; pair < radix; pair++) {
            const int c = row / 16 * 8 + row % 8;
            const int a = a_of_word(pair, second_radix);
            put(0, row, pair, phasor_of(a * c, radix), row / 8 % 2, inverted);
            // of k16 step pair / 8: what a lane has of the first product, two columns
            const int n = pair / 8 * 8 + 2 * (pair % 4) + pair / 4 % 2;
            const auto [segment, b] = column_of(n, second_radix);
            const int e = row / 8 * 4 + row % 8 / 2;
            const int d = e % second_radix;
            const bool own = e / second_radix == segment;
            put(1, row, pair, own ? phasor_of(b * d, second_radix) : 0, row % 2, false);
        }
    return all;
}

std::vector<float2> make_twiddles(int channels)
{
    std::vector<float2> all;
    for (int step = 0; step < steps; step++)
        for (int thread = 0; thread < crew_threads; thread++)
            for (int odd = 0; odd < 2; odd++) {
                const int c = thread / 4, t = thread % 4;
                const int b = column_of(8 * step + 2 * t + odd, channels / radix).b;
                const auto w = twiddle_scale * phasor_of(b * c, channels);
                all.push_back({ float(w.real()), float(w.imag()) });
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
