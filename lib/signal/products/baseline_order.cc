/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/not_numbers.h"
#include "kernels/common/simd.h"

#include <gnuradio/aperture/baseline_order.h>
#include <type_traits>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <stdexcept>
#include <string>

namespace gr::aperture {
namespace {

//! Channels whose products are read together: they fill a cache line of each cell with
//! one polarisation, and stay in the cache until all cells that are beside each other are
//! read.
constexpr int together = 8;

//! The bit of a complex number that is the sign of its imaginary part.
constexpr uint64_t imaginary_sign = uint64_t(1) << 63;

//! The cells of a file, and the products that they are made of.
struct cell_map {
    int64_t products;
    const int64_t* product; // [cell]
    const uint64_t* sign;   // [cell]
    size_t cells;
};

/*!
 * Copies elements from [channel][product] to [baseline][channel][polarisation], as
 * element(product's offset, cell) gives them.
 */
template <class Wide, class T, class Element>
[[gnu::always_inline]] inline void
transpose(Wide polarizations, const cell_map& map, int channels, T* to, Element element)
{
    const size_t wide = polarizations;
    for (int first = 0; first < channels; first += together) {
        const int last = std::min(channels, first + together);
        for (size_t cell = 0; cell < map.cells; cell += wide) {
            T* row = to + cell * size_t(channels) + size_t(first) * wide;
            for (int64_t channel = first; channel < last; channel++, row += wide)
                for (size_t p = 0; p < wide; p++)
                    row[p] =
                        element(channel * map.products + map.product[cell + p], cell + p);
        }
    }
}

//! Does the same; the compiler knows the usual numbers of polarisations.
template <class T, class Element>
[[gnu::always_inline]] inline void transpose_cells(
    int polarizations, const cell_map& map, int channels, T* to, Element element)
{
    if (polarizations == 1)
        transpose(std::integral_constant<size_t, 1>{}, map, channels, to, element);
    else if (polarizations == 4)
        transpose(std::integral_constant<size_t, 4>{}, map, channels, to, element);
    else
        transpose(size_t(polarizations), map, channels, to, element);
}

APERTURE_SIMD void order(const uint64_t* from,
                         const cell_map& map,
                         int polarizations,
                         int channels,
                         uint64_t* to)
{
    transpose_cells(polarizations, map, channels, to, [&](int64_t at, size_t cell) {
        return from[at] ^ map.sign[cell];
    });
}

APERTURE_SIMD void order_scaled(const std::complex<float>* from,
                                const std::complex<float>* factors,
                                const cell_map& map,
                                int polarizations,
                                int channels,
                                std::complex<float>* to)
{
    transpose_cells(polarizations, map, channels, to, [&](int64_t at, size_t cell) {
        const auto v = from[at], f = factors[at];
        const float re = v.real() * f.real() - v.imag() * f.imag();
        const float im = v.real() * f.imag() + v.imag() * f.real();
        return std::complex<float>(re, map.sign[cell] ? -im : im);
    });
}

APERTURE_SIMD void order_fractions(const uint32_t* from,
                                   double spectra,
                                   const cell_map& map,
                                   int polarizations,
                                   int channels,
                                   float* to)
{
    transpose_cells(polarizations, map, channels, to, [&](int64_t at, size_t) {
        return float(double(from[at]) / spectra);
    });
}

APERTURE_SIMD baseline_order::found
flag(const float* fractions, size_t count, uint8_t* flags)
{
    uint32_t less = 0, none = 0;
    for (size_t i = 0; i < count; i++) {
        const bool zero = fractions[i] == 0;
        flags[i] = zero;
        less |= fractions[i] != 1;
        none |= zero;
    }
    return { !less, none != 0 };
}

//! Calls each(offset of an element) for all channels of some cells of
//! [baseline][channel][polarisation].
template <class Each>
void each_channel(const std::vector<size_t>& cells,
                  int polarizations,
                  int channels,
                  Each each)
{
    const size_t wide = size_t(polarizations), count = size_t(channels);
    for (const size_t cell : cells)
        for (size_t channel = 0; channel < count; channel++)
            each((cell / wide * count + channel) * wide + cell % wide);
}

//! Channels that are rotated together, and those that are rotated from an exact phasor
//! on.
constexpr int lanes = 8, exact_channels = 256;

//! Multiplies values [channel][polarisation] with phasors: the first channel's, and from
//! one channel, and from one group of lanes, to the next.
APERTURE_SIMD void rotate_run(std::complex<double> start,
                              std::complex<double> step,
                              std::complex<double> step_of_lanes,
                              int channels,
                              int polarizations,
                              float* values)
{
    double re[lanes], im[lanes];
    for (int i = 0; i < lanes; i++) {
        re[i] = start.real();
        im[i] = start.imag();
        start = { start.real() * step.real() - start.imag() * step.imag(),
                  start.real() * step.imag() + start.imag() * step.real() };
    }
    const double sr = step_of_lanes.real(), si = step_of_lanes.imag();
    const auto rotate = [&](int channel, int i) {
        for (int p = 0; p < polarizations; p++) {
            float* const v = values + 2 * (int64_t(channel + i) * polarizations + p);
            const double a = v[0], b = v[1];
            v[0] = float(a * re[i] - b * im[i]);
            v[1] = float(a * im[i] + b * re[i]);
        }
    };
    int channel = 0;
    for (; channel + lanes <= channels; channel += lanes) {
        if (polarizations == 1) {
            float* const v = values + 2 * channel;
            for (int i = 0; i < lanes; i++) {
                const double a = v[2 * i], b = v[2 * i + 1];
                v[2 * i] = float(a * re[i] - b * im[i]);
                v[2 * i + 1] = float(a * im[i] + b * re[i]);
            }
        } else {
            for (int i = 0; i < lanes; i++)
                rotate(channel, i);
        }
        for (int i = 0; i < lanes; i++) {
            const double next = re[i] * sr - im[i] * si;
            im[i] = re[i] * si + im[i] * sr;
            re[i] = next;
        }
    }
    for (int i = 0; channel + i < channels; i++)
        rotate(channel, i);
}

} // namespace

baseline_order::baseline_order(const cells& p)
    : d_products(p.products), d_polarizations(p.polarizations), d_product(p.product)
{
    const auto refuse = [](const char* name, int64_t value, const std::string& allowed) {
        throw std::invalid_argument(std::string(name) + ": " + std::to_string(value) +
                                    " is not allowed; it must be " + allowed);
    };
    if (d_products < 1)
        refuse("products", d_products, "at least 1");
    if (d_polarizations < 1 || d_polarizations > 4)
        refuse("polarizations", d_polarizations, "1 to 4");
    const size_t cells = d_product.size();
    if (!cells || cells % size_t(d_polarizations))
        refuse("product",
               int64_t(cells),
               "of a length that is a multiple of " + std::to_string(d_polarizations));
    if (p.conjugate.size() != cells)
        refuse("conjugate",
               int64_t(p.conjugate.size()),
               "of the length of product, " + std::to_string(cells));
    if (p.real.size() != cells)
        refuse("real",
               int64_t(p.real.size()),
               "of the length of product, " + std::to_string(cells));
    d_sign.resize(cells);
    for (size_t cell = 0; cell < cells; cell++) {
        if (d_product[cell] < -1 || d_product[cell] >= d_products)
            refuse("product",
                   d_product[cell],
                   "from -1 to " + std::to_string(d_products - 1));
        d_sign[cell] = p.conjugate[cell] ? imaginary_sign : 0;
        if (d_product[cell] < 0) {
            d_product[cell] = 0;
            d_none.push_back(cell);
        } else if (p.real[cell])
            d_real.push_back(cell);
    }
}

bool baseline_order::visibilities(const std::complex<float>* from,
                                  const std::complex<float>* factors,
                                  int channels,
                                  std::complex<float>* to) const
{
    const cell_map map{ d_products, d_product.data(), d_sign.data(), d_product.size() };
    if (factors)
        order_scaled(from, factors, map, d_polarizations, channels, to);
    else
        // bits are moved, so that not even a NaN changes
        order(reinterpret_cast<const uint64_t*>(from),
              map,
              d_polarizations,
              channels,
              reinterpret_cast<uint64_t*>(to));
    each_channel(d_real, d_polarizations, channels, [to](size_t at) {
        to[at].imag(to[at].imag() * 0);
    });
    each_channel(d_none, d_polarizations, channels, [to](size_t at) { to[at] = 0; });
    return kernels::host::all_numbers(reinterpret_cast<const float*>(to),
                                      2 * d_product.size() * size_t(channels));
}

void baseline_order::rotate(const double* delays,
                            double first,
                            double width,
                            int channels,
                            std::complex<float>* values) const
{
    // cycles are counted modulo 1 before they become an angle
    const auto phasor = [](double cycles) {
        return std::polar(1.0, -2 * M_PI * (cycles - std::rint(cycles)));
    };
    const int64_t all = baselines();
    for (int64_t baseline = 0; baseline < all; baseline++)
        for (int first_of_run = 0; first_of_run < channels;
             first_of_run += exact_channels) {
            // exact ones, before errors of rounding add up
            const double cycles = delays[baseline] * width;
            const auto start =
                phasor(delays[baseline] * (first + width * double(first_of_run)));
            const int count = std::min(exact_channels, channels - first_of_run);
            rotate_run(start,
                       phasor(cycles),
                       phasor(lanes * cycles),
                       count,
                       d_polarizations,
                       reinterpret_cast<float*>(values));
            values += int64_t(count) * d_polarizations;
        }
}

baseline_order::found baseline_order::fractions(const uint32_t* from,
                                                uint64_t spectra,
                                                int channels,
                                                float* fractions,
                                                uint8_t* flags) const
{
    const cell_map map{ d_products, d_product.data(), d_sign.data(), d_product.size() };
    order_fractions(from, double(spectra), map, d_polarizations, channels, fractions);
    each_channel(
        d_none, d_polarizations, channels, [fractions](size_t at) { fractions[at] = 0; });
    return flag(fractions, d_product.size() * size_t(channels), flags);
}

} // namespace gr::aperture
