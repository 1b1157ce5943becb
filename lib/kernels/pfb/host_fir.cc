/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/sample_reader.h"
#include "kernels/common/simd.h"
#include "kernels/pfb/host_fir.h"
#include <algorithm>

namespace gr::aperture::kernels::host {

namespace {

constexpr size_t width = 64; // floats of a column
constexpr size_t lanes =
    16; // floats of a vector; narrower processors use several vectors for one
typedef float vector __attribute__((
    vector_size(lanes * sizeof(float)), aligned(sizeof(float)), may_alias));

size_t rounded_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

//! Reads rows of components, `row` of them apart, into rows of a column.
#define APERTURE_READ_COLUMN(type)                                          \
    APERTURE_SIMD void read_column(                                         \
        const type* x, size_t row, size_t rows, size_t used, float* column) \
    {                                                                       \
        for (size_t r = 0; r < rows; r++) {                                 \
            const type* from = x + r * row;                                 \
            float* to = column + r * width;                                 \
            if (used == width)                                              \
                for (size_t j = 0; j < width; j++)                          \
                    to[j] = value_of(from[j]);                              \
            else                                                            \
                for (size_t j = 0; j < used; j++)                           \
                    to[j] = value_of(from[j]);                              \
        }                                                                   \
    }
APERTURE_READ_COLUMN(float)
APERTURE_READ_COLUMN(int16_t)
APERTURE_READ_COLUMN(int8_t)
#undef APERTURE_READ_COLUMN

//! Filters x: [count - 1 + taps][width] with h: [taps][width] to y: rows `stride` apart.
APERTURE_SIMD void filter_column(const float* x,
                                 const float* h,
                                 int taps,
                                 size_t used,
                                 size_t count,
                                 float* y,
                                 size_t stride)
{
    const auto load = [](const float* p) -> const vector& {
        return *reinterpret_cast<const vector*>(p);
    };
    for (size_t j = 0; j < used; j += lanes) {
        size_t m = 0;
        for (; m + 4 <= count; m += 4) { // each tap is loaded once for four spectra
            vector a{}, b{}, c{}, d{};
            const float* row = x + m * width + j;
            const float* tap = h + j;
            for (int t = 0; t < taps; t++, row += width, tap += width) {
                const vector ht = load(tap);
                a += ht * load(row);
                b += ht * load(row + width);
                c += ht * load(row + 2 * width);
                d += ht * load(row + 3 * width);
            }
            float* out = y + m * stride + j;
            *reinterpret_cast<vector*>(out) = a;
            *reinterpret_cast<vector*>(out + stride) = b;
            *reinterpret_cast<vector*>(out + 2 * stride) = c;
            *reinterpret_cast<vector*>(out + 3 * stride) = d;
        }
        for (; m < count; m++) {
            vector a{};
            for (int t = 0; t < taps; t++)
                a += load(h + t * width + j) * load(x + (m + t) * width + j);
            *reinterpret_cast<vector*>(y + m * stride + j) = a;
        }
    }
}

//! Filters x: `taps` rows with h: [taps][width] to one row y.
APERTURE_SIMD void
filter_single(const float* x, size_t row, const float* h, int taps, size_t used, float* y)
{
    const auto load = [](const float* p) -> const vector& {
        return *reinterpret_cast<const vector*>(p);
    };
    if (used == width) { // four sums that do not wait for each other
        vector a{}, b{}, c{}, d{};
        for (int t = 0; t < taps; t++, x += row, h += width) {
            a += load(h) * load(x);
            b += load(h + lanes) * load(x + lanes);
            c += load(h + 2 * lanes) * load(x + 2 * lanes);
            d += load(h + 3 * lanes) * load(x + 3 * lanes);
        }
        *reinterpret_cast<vector*>(y) = a;
        *reinterpret_cast<vector*>(y + lanes) = b;
        *reinterpret_cast<vector*>(y + 2 * lanes) = c;
        *reinterpret_cast<vector*>(y + 3 * lanes) = d;
        return;
    }
    for (size_t j = 0; j < used; j += lanes) {
        vector a{};
        for (int t = 0; t < taps; t++)
            a += load(h + t * width + j) * load(x + t * row + j);
        *reinterpret_cast<vector*>(y + j) = a;
    }
}

} // namespace

host_fir::host_fir(const std::vector<float>& h, int taps, size_t row, size_t spectra)
    : d_taps(taps),
      d_row(row),
      d_stride(rounded_up(row, lanes) + lanes),
      d_h(make_fft_buffer(rounded_up(row, width) * taps)),
      d_column(make_fft_buffer((spectra - 1 + taps) * width))
{
    std::fill_n(d_h.get(), rounded_up(row, width) * taps, 0.f);
    std::fill_n(d_column.get(), (spectra - 1 + taps) * width, 0.f);
    for (size_t first = 0; first < row; first += width)
        for (int t = 0; t < taps; t++)
            std::copy_n(h.begin() + t * row + first,
                        std::min(width, row - first),
                        d_h.get() + first * taps + t * width);
}

template <class number>
void host_fir::filter_rows(const number* x, size_t spectra, float* y)
{
    for (size_t first = 0; first < d_row; first += width) {
        const size_t used = std::min(width, d_row - first);
        read_column(x + first, d_row, spectra - 1 + d_taps, used, d_column.get());
        filter_column(d_column.get(),
                      d_h.get() + first * d_taps,
                      d_taps,
                      used,
                      spectra,
                      y + first,
                      d_stride);
    }
}

void host_fir::filter(const float* x, size_t spectra, float* y)
{
    filter_rows(x, spectra, y);
}

void host_fir::filter(const int16_t* x, size_t spectra, float* y)
{
    filter_rows(x, spectra, y);
}

void host_fir::filter(const int8_t* x, size_t spectra, float* y)
{
    filter_rows(x, spectra, y);
}

void host_fir::filter_one(const float* x, float* y) const
{
    for (size_t first = 0; first < d_row; first += width)
        filter_single(x + first,
                      d_row,
                      d_h.get() + first * d_taps,
                      d_taps,
                      std::min(width, d_row - first),
                      y + first);
}

size_t host_fir::padding() { return lanes; }

} // namespace gr::aperture::kernels::host
