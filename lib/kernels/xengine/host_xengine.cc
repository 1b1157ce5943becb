/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/simd.h"
#include "kernels/common/voltage.h"
#include "kernels/xengine/xengine.h"
#include "kernels/xengine/xengine_tiles.h"
#include <type_traits>
#include <algorithm>
#include <stdexcept>

namespace gr::aperture::kernels::host {

namespace {

//! Returns the kernels, best first.
const std::vector<const tile_kernels*>& all_tiles()
{
    static const std::vector<const tile_kernels*> all
    {
#if defined(__x86_64__)
        &avx512_tiles, &avx2_tiles,
#endif
            &generic_tiles
    };
    return all;
}

struct sc8 {
    int8_t parts[2];
    int16_t re() const { return voltage_part(parts[0]); }
    int16_t im() const { return voltage_part(parts[1]); }
};

struct sc4 {
    int8_t packed;
    // -8 is read as -7
    int16_t re() const { return std::max(packed >> 4, -7); }
    int16_t im() const { return std::max(int8_t(packed * 16) >> 4, -7); }
};

struct fc32 {
    float parts[2];
    float re() const { return parts[0]; }
    float im() const { return parts[1]; }
};

/*!
 * Unpacks one input's voltages of some time to rows of elements: as they are, and
 * multiplied by -i, (im, -re).
 */
#define APERTURE_UNPACK_ROW(voltage, element)                                  \
    APERTURE_SIMD void unpack_row(                                             \
        const voltage* in, element* row, element* times_minus_i, size_t count) \
    {                                                                          \
        for (size_t t = 0; t < count; t++) {                                   \
            const element re = in[t].re(), im = in[t].im();                    \
            row[2 * t] = re;                                                   \
            row[2 * t + 1] = im;                                               \
            times_minus_i[2 * t] = im;                                         \
            times_minus_i[2 * t + 1] = -re;                                    \
        }                                                                      \
    }
APERTURE_UNPACK_ROW(sc8, int16_t)
APERTURE_UNPACK_ROW(sc4, int16_t)
APERTURE_UNPACK_ROW(fc32, float)
#undef APERTURE_UNPACK_ROW

template <class voltage>
class host_xengine : public xengine
{
    static constexpr bool exact = !std::is_same_v<voltage, fc32>;
    using element = std::conditional_t<exact, int16_t, float>;
    using tile_sum = std::conditional_t<exact, int32_t, float>;
    using running_sum = std::conditional_t<exact, int64_t, double>;
    using kernel = tile_kernel<element, tile_sum>;

public:
    host_xengine(const parameters& p, const char* vectors, const kernel& k)
        : d_p(p), d_vectors(vectors), d_kernel(k), d_sums(2 * p.products() * p.channels)
    {
        // 1024 spectra are far from the limit of an int32, and rows of 4 KiB of a tile
        // fit into the first-level cache
        d_chunk = std::min(1024, p.spectra_per_frame);
        d_stride = rounded_up(2 * d_chunk, d_kernel.lanes);
        d_rows = std::max(rounded_up(p.inputs, d_kernel.rows),
                          rounded_up(p.inputs, d_kernel.columns));
    }

    std::string implementation() const override { return "host " + d_vectors; }

    void accumulate(const void* voltages, int frames, stream&) override
    {
        const auto* in = static_cast<const voltage*>(voltages);
        const int64_t channel_size = int64_t(d_p.inputs) * d_p.spectra_per_frame;
        // starting threads costs some microseconds
        const bool worth_threads =
            frames * double(d_p.spectra_per_frame) * d_p.channels * d_p.products() > 1e6;
#pragma omp parallel if (worth_threads)
        {
            // zeros stay behind the last input and the last time
            std::vector<element> rows(d_rows * d_stride),
                times_minus_i(d_rows * d_stride);
#pragma omp for schedule(static)
            for (int channel = 0; channel < d_p.channels; channel++)
                for (int frame = 0; frame < frames; frame++)
                    add(in + (int64_t(frame) * d_p.channels + channel) * channel_size,
                        d_sums.data() + channel * 2 * d_p.products(),
                        rows,
                        times_minus_i);
        }
    }

    void dump(cfloat* visibilities,
              const double* scales,
              size_t scale_count,
              stream& s) override
    {
        const int64_t products = d_p.products();
        for (int64_t i = 0; i < products * d_p.channels; i++) {
            const double scale = scales[scale_count == 1 ? 0 : i % products];
            visibilities[i] = cfloat(float(double(d_sums[2 * i]) * scale),
                                     float(double(d_sums[2 * i + 1]) * scale));
        }
        clear(s);
    }

    void dump_means(cfloat* visibilities, const uint32_t* counts, stream& s) override
    {
        for (int64_t i = 0; i < d_p.products() * d_p.channels; i++) {
            const double scale = counts[i] ? 1. / counts[i] : 0;
            visibilities[i] = cfloat(float(double(d_sums[2 * i]) * scale),
                                     float(double(d_sums[2 * i + 1]) * scale));
        }
        clear(s);
    }

    void clear(stream&) override { std::fill(d_sums.begin(), d_sums.end(), 0); }

private:
    static size_t rounded_up(size_t n, size_t multiple)
    {
        return (n + multiple - 1) / multiple * multiple;
    }

    //! Adds the products of one channel of one frame, [input][time].
    void add(const voltage* in,
             running_sum* sums,
             std::vector<element>& rows,
             std::vector<element>& times_minus_i)
    {
        for (int first = 0; first < d_p.spectra_per_frame; first += d_chunk) {
            const int count = std::min(d_chunk, d_p.spectra_per_frame - first);
            const size_t length = rounded_up(2 * count, d_kernel.lanes);
            for (int input = 0; input < d_p.inputs; input++) {
                element* row = rows.data() + input * d_stride;
                element* row_times_minus_i = times_minus_i.data() + input * d_stride;
                unpack_row(in + int64_t(input) * d_p.spectra_per_frame + first,
                           row,
                           row_times_minus_i,
                           count);
                std::fill(row + 2 * count, row + length, 0);
                std::fill(row_times_minus_i + 2 * count, row_times_minus_i + length, 0);
            }
            for (int a = 0; a < d_p.inputs; a += d_kernel.rows)
                for (int b = 0; b < std::min(d_p.inputs, a + d_kernel.rows);
                     b += d_kernel.columns)
                    add_tile(a, b, length, rows, times_minus_i, sums);
        }
    }

    void add_tile(int a,
                  int b,
                  size_t length,
                  const std::vector<element>& rows,
                  const std::vector<element>& times_minus_i,
                  running_sum* sums)
    {
        tile_sum re[64], im[64];
        d_kernel.run(rows.data() + a * d_stride,
                     times_minus_i.data() + a * d_stride,
                     rows.data() + b * d_stride,
                     d_stride,
                     length,
                     re,
                     im);
        for (int r = 0; r < d_kernel.rows && a + r < d_p.inputs; r++)
            for (int c = 0; c < d_kernel.columns && b + c <= a + r; c++) {
                const int64_t product = int64_t(a + r) * (a + r + 1) / 2 + b + c;
                sums[2 * product] += re[r * d_kernel.columns + c];
                sums[2 * product + 1] += im[r * d_kernel.columns + c];
            }
    }

    const parameters d_p;
    const std::string d_vectors;
    const kernel d_kernel;
    int d_chunk;                     // spectra that are unpacked together
    size_t d_stride;                 // elements of a row
    size_t d_rows;                   // rows of inputs, with those that only fill a tile
    std::vector<running_sum> d_sums; // [channel][product][re, im]
};

} // namespace

//! The vector instructions there is a kernel for and that this processor has, best first.
template <>
std::vector<std::string> implementations<xengine>()
{
    std::vector<std::string> names;
    for (const auto* tiles : all_tiles())
        if (tiles->supported())
            names.push_back(tiles->name);
    return names;
}

//! Dot products of tiles of inputs.
template <>
std::unique_ptr<xengine> make(const xengine::parameters& p, const std::string& vectors)
{
    for (const auto* tiles : all_tiles())
        if ((vectors.empty() || tiles->name == vectors) && tiles->supported()) {
            if (p.type == sample_type::sc8)
                return std::make_unique<host_xengine<sc8>>(
                    p, tiles->name, tiles->integer);
            if (p.type == sample_type::sc4)
                return std::make_unique<host_xengine<sc4>>(
                    p, tiles->name, tiles->integer);
            return std::make_unique<host_xengine<fc32>>(p, tiles->name, tiles->real);
        }
    throw std::invalid_argument("vectors: '" + vectors + "' is not supported here");
}

} // namespace gr::aperture::kernels::host
