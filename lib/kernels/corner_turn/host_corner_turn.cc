/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/not_numbers.h"
#include "kernels/common/simd.h"
#include "kernels/common/transpose_square.h"
#include "kernels/corner_turn/corner_turn.h"
#include <type_traits>
#include <algorithm>
#include <atomic>

namespace gr::aperture::kernels::host {

namespace {

using sc8 = uint16_t; // both bytes of a voltage move together
using sc4 = uint8_t;  // both components move together

//! Returns whether either byte is -128, or either component of 4 bits -8.
inline bool is_minimum(sc8 v) { return (v & 0xff) == 0x80 || v >> 8 == 0x80; }
inline bool is_minimum(sc4 v) { return (v & 0xf) == 8 || v >> 4 == 8; }
inline bool is_minimum(cfloat) { return false; }

inline sc8 without_minimum(sc8 v)
{
    return ((v & 0xff) == 0x80 ? 0x81 : v & 0xff) |
           (v >> 8 == 0x80 ? 0x8100 : v & 0xff00);
}
inline sc4 without_minimum(sc4 v)
{
    return ((v & 0xf) == 8 ? 9 : v & 0xf) | (v >> 4 == 8 ? 0x90 : v & 0xf0);
}
inline cfloat without_minimum(cfloat v) { return v; }

/*!
 * Transposes: out[c][t] = in[t][c] for times from `first` on and channels from `start`
 * on; rows of `row` and `column` voltages. It takes a few times at once, so that cache
 * lines are read and written as a whole. Returns whether any is a minimum.
 */
template <class voltage>
bool transpose_singly(const voltage* in,
                      size_t row,
                      int first,
                      int times,
                      int start,
                      int channels,
                      voltage* out,
                      size_t column)
{
    constexpr int few = 8;
    bool minima = false;
    for (; first < times; first += few)
        for (int c = start; c < channels; c++)
            for (int t = first; t < std::min(times, first + few); t++) {
                const voltage v = in[t * row + c];
                out[c * column + t] = v;
                minima |= is_minimum(v);
            }
    return minima;
}

//! A cache line of floats, as bits.
typedef int32_t line __attribute__((vector_size(64), aligned(4), may_alias));

/*!
 * Returns whether all elements of some rows are numbers: `channels` each, `row` apart.
 * Just after they were read they are in the cache.
 */
APERTURE_SIMD bool are_numbers(const cfloat* in, size_t row, int times, int channels)
{
    constexpr int floats = sizeof(line) / sizeof(float);
    line largest{};
    uint32_t rest = 0;
    for (int t = 0; t < times; t++) {
        const auto* values = reinterpret_cast<const float*>(in + t * row);
        int j = 0;
        for (; j + floats <= 2 * channels; j += floats) {
            // bits without the sign are in the order of magnitudes
            const line v = *reinterpret_cast<const line*>(values + j) & 0x7fffffff;
            largest = v > largest ? v : largest;
        }
        for (; j < 2 * channels; j++)
            rest = std::max(rest, magnitude(values[j]));
    }
    for (int j = 0; j < floats; j++)
        rest = std::max(rest, uint32_t(largest[j]));
    return rest < infinite;
}

template <class voltage>
bool transpose(
    const voltage* in, size_t row, int times, int channels, voltage* out, size_t column)
{
    return transpose_singly(in, row, 0, times, 0, channels, out, column);
}

typedef int8_t sixteen_bytes __attribute__((vector_size(16)));

//! Returns words that are not zero where either byte of a voltage is -128.
inline words8 minima_of(words8 v) { return words8(sixteen_bytes(v) == -128); }

//! Transposes sc8 in squares of 8 x 8.
template <>
bool transpose(
    const sc8* in, size_t row, int times, int channels, sc8* out, size_t column)
{
    constexpr int side = 8;
    const int whole_times = times - times % side;
    const int whole_channels = channels - channels % side;
    words8 found{};
    for (int t = 0; t < whole_times; t += side)
        for (int c = 0; c < whole_channels; c += side) {
            words8 v[side];
            for (int i = 0; i < side; i++) {
                v[i] = *reinterpret_cast<const words8*>(in + (t + i) * row + c);
                found |= minima_of(v[i]);
            }
            transpose_square(v);
            for (int i = 0; i < side; i++)
                *reinterpret_cast<words8*>(out + (c + i) * column + t) = v[i];
        }
    bool minima = false;
    for (int i = 0; i < side; i++)
        minima |= found[i] != 0;
    minima |=
        transpose_singly(in, row, 0, whole_times, whole_channels, channels, out, column);
    minima |= transpose_singly(in, row, whole_times, times, 0, channels, out, column);
    return minima;
}

template <class voltage>
class host_corner_turn : public corner_turn
{
public:
    explicit host_corner_turn(const parameters& p) : corner_turn(p), d_clamped(p.inputs())
    {
    }

    std::string implementation() const override { return "host"; }

    std::vector<uint64_t> clamped() const override
    {
        return { d_clamped.begin(), d_clamped.end() };
    }

private:
    void transpose_frames(const void* const* spectra,
                          void* frame,
                          int first,
                          int count,
                          int frames,
                          stream&) override
    {
        const size_t row = size_t(d_p.inputs_per_port) * d_p.channels;
        for (int n = 0; n < frames; n++)
            for (int port = 0; port < d_p.ports; port++)
                for (int i = 0; i < d_p.inputs_per_port; i++) {
                    const int input = port * d_p.inputs_per_port + i;
                    auto* in = static_cast<const voltage*>(spectra[port]);
                    if (in)
                        in += n * count * row + size_t(i) * d_p.channels +
                              d_p.first_channel;
                    auto* to = static_cast<char*>(frame) + n * bytes_of_frame();
                    transpose_input(in,
                                    reinterpret_cast<voltage*>(to),
                                    input,
                                    first,
                                    count,
                                    int64_t(n) * count);
                }
    }

    //! Transposes one input.
    //! \param in the first spectrum of the input, which is number `begin` of the call
    void transpose_input(
        const voltage* in, voltage* frame, int input, int first, int count, int64_t begin)
    {
        // channels of a tile: a cache line of a spectrum
        constexpr int tile = 64 / sizeof(voltage);
        const size_t row = size_t(d_p.inputs_per_port) * d_p.channels;
        const size_t column = size_t(d_p.inputs()) * d_p.spectra_per_frame;
        voltage* out = frame + size_t(input) * d_p.spectra_per_frame + first;
        bool numbers = true;
        for (int start = 0; start < d_p.selected_channels; start += tile) {
            const int channels = std::min(d_p.selected_channels - start, tile);
            voltage* to = out + start * column;
            if (in) {
                if (transpose(in + start, row, count, channels, to, column))
                    for (int c = 0; c < channels; c++)
                        d_clamped[input] += clamp(to + c * column, count);
                if constexpr (std::is_same_v<voltage, cfloat>)
                    numbers = numbers &&
                              (!d_found || are_numbers(in + start, row, count, channels));
            } else {
                for (int c = 0; c < channels; c++)
                    std::fill_n(to + c * column, count, voltage());
            }
        }
        if constexpr (std::is_same_v<voltage, cfloat>)
            for (int t = 0; !numbers && t < count; t++) {
                if (are_numbers(in + t * row, row, 1, d_p.selected_channels))
                    continue;
                for (int c = 0; c < d_p.selected_channels; c++)
                    out[c * column + t] = 0;
                d_found->push_back({ begin + t, input });
            }
    }

    static uint64_t clamp(voltage* to, int count)
    {
        uint64_t found = 0;
        for (int t = 0; t < count; t++) {
            found += is_minimum(to[t]);
            to[t] = without_minimum(to[t]);
        }
        return found;
    }

    std::vector<std::atomic<uint64_t>> d_clamped;
};

} // namespace

//! Tile by tile, so that what is read and what is written stay in the cache.
template <>
std::unique_ptr<corner_turn> make(const corner_turn::parameters& p, const std::string&)
{
    if (p.type == sample_type::sc8)
        return std::make_unique<host_corner_turn<sc8>>(p);
    if (p.type == sample_type::sc4)
        return std::make_unique<host_corner_turn<sc4>>(p);
    return std::make_unique<host_corner_turn<cfloat>>(p);
}

} // namespace gr::aperture::kernels::host
