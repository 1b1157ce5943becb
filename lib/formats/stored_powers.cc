/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/stored_words.h"
#include "kernels/common/not_numbers.h"
#include "kernels/common/simd.h"
#include "kernels/common/types.h"
#include <gnuradio/aperture/stored_powers.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace gr::aperture::stored_powers {

namespace {

using formats::as;
using formats::swapped;
using formats::word_at;

// Returns the number that the lowest bits of a word stand for.
constexpr int number_of(int word, int bits, bool is_signed)
{
    const int value = word & ((1 << bits) - 1);
    return is_signed && value >> (bits - 1) ? value - (1 << bits) : value;
}

// Returns the bit of a byte at which the number of a place begins.
constexpr int shift_of(int place, int bits, bool big_endian)
{
    return bits * (big_endian ? 8 / bits - 1 - place : place);
}

// The numbers in each byte, in the order of the file, or in the opposite one.
template <int Bits, bool Big, bool Signed, bool Reverse>
struct byte_table {
    static constexpr int count = 8 / Bits;
    float of[256][count];

    constexpr byte_table() : of()
    {
        for (int byte = 0; byte < 256; byte++)
            for (int i = 0; i < count; i++) {
                const int place = Reverse ? count - 1 - i : i;
                of[byte][i] =
                    float(number_of(byte >> shift_of(place, Bits, Big), Bits, Signed));
            }
    }
};

template <int Bits, bool Big, bool Signed, bool Reverse>
constexpr byte_table<Bits, Big, Signed, Reverse> table_of{};

// Unpacks a row of whole bytes.
template <int Bits, bool Big, bool Signed, bool Reverse>
void unpack_bits(const uint8_t* file, int64_t bytes, float* out)
{
    const auto& table = table_of<Bits, Big, Signed, Reverse>;
    constexpr int count = 8 / Bits;
    for (int64_t i = 0; i < bytes; i++)
        std::memcpy(out + (Reverse ? bytes - 1 - i : i) * count,
                    table.of[file[i]],
                    sizeof table.of[0]);
}

template <int Bits, bool Big, bool Signed>
void unpack_bits(bool reverse, const uint8_t* file, int64_t bytes, float* out)
{
    (reverse ? unpack_bits<Bits, Big, Signed, true>
             : unpack_bits<Bits, Big, Signed, false>)(file, bytes, out);
}

template <int Bits>
void unpack_bits(const coding& how, const uint8_t* file, int64_t bytes, float* out)
{
    if (how.big_endian)
        (how.is_signed
             ? unpack_bits<Bits, true, true>
             : unpack_bits<Bits, true, false>)(how.descending, file, bytes, out);
    else
        (how.is_signed
             ? unpack_bits<Bits, false, true>
             : unpack_bits<Bits, false, false>)(how.descending, file, bytes, out);
}

// Loops that the compiler makes for each generation of processors: a row of numbers that
// are bytes or words, in the order of the file and in the opposite one.
#define APERTURE_UNPACK(name, word, swap, value)                                       \
    APERTURE_SIMD void name(const uint8_t* file, int64_t count, float* out)            \
    {                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                          \
            const word v = word_at<word, swap>(file, i);                               \
            out[i] = value;                                                            \
        }                                                                              \
    }                                                                                  \
    APERTURE_SIMD void name##_reversed(const uint8_t* file, int64_t count, float* out) \
    {                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                          \
            const word v = word_at<word, swap>(file, count - 1 - i);                   \
            out[i] = value;                                                            \
        }                                                                              \
    }
#define APERTURE_UNPACK_WORDS(name, word, value) \
    APERTURE_UNPACK(name, word, false, value)    \
    APERTURE_UNPACK(name##_swapped, word, true, value)
APERTURE_UNPACK(bytes, uint8_t, false, float(v))
APERTURE_UNPACK(signed_bytes, uint8_t, false, float(int8_t(v)))
APERTURE_UNPACK_WORDS(words, uint16_t, float(v))
APERTURE_UNPACK_WORDS(signed_words, uint16_t, float(int16_t(v)))
APERTURE_UNPACK_WORDS(floats, uint32_t, as<float>(v))
#undef APERTURE_UNPACK_WORDS
#undef APERTURE_UNPACK

using row_reader = void (*)(const uint8_t*, int64_t, float*);

// The reader of rows of 8 bits and more.
row_reader reader_of(const coding& how)
{
    const bool turned = how.descending, swap = how.big_endian;
    const auto one = [&](row_reader plain, row_reader reversed) {
        return turned ? reversed : plain;
    };
    const auto words_of = [&](row_reader a, row_reader b, row_reader c, row_reader d) {
        return swap ? one(c, d) : one(a, b);
    };
    if (how.bits == 8)
        return how.is_signed ? one(signed_bytes, signed_bytes_reversed)
                             : one(bytes, bytes_reversed);
    if (how.bits == 32)
        return words_of(floats, floats_reversed, floats_swapped, floats_swapped_reversed);
    if (how.is_signed)
        return words_of(signed_words,
                        signed_words_reversed,
                        signed_words_swapped,
                        signed_words_swapped_reversed);
    return words_of(words, words_reversed, words_swapped, words_swapped_reversed);
}

// A row that need not begin or end with a byte.
void unpack_slowly(
    const coding& how, const uint8_t* file, int64_t first, int64_t channels, float* out)
{
    const int each = 8 / how.bits;
    for (int64_t c = 0; c < channels; c++) {
        const int64_t number = first + c;
        const int shift = shift_of(int(number % each), how.bits, how.big_endian);
        out[how.descending ? channels - 1 - c : c] =
            float(number_of(file[number / each] >> shift, how.bits, how.is_signed));
    }
}

APERTURE_SIMD void scale_row(
    float zero, const float* scale, const float* offset, int64_t channels, float* row)
{
    for (int64_t c = 0; c < channels; c++)
        row[c] = (row[c] - zero) * scale[c] + offset[c];
}

/*!
 * Doubles above 2^52 are whole numbers: adding this one, and taking it off, rounds half
 * to even.
 */
constexpr double rounding = 6755399441055744.0; // 1.5 * 2^52

APERTURE_SIMD void numbers_of(const float* powers,
                              const double* offset,
                              const double* step,
                              double lowest,
                              double highest,
                              int64_t channels,
                              int32_t* numbers)
{
    for (int64_t c = 0; c < channels; c++) {
        const double value = (double(powers[c]) - offset[c]) / step[c];
        // NaN is not above the lowest
        const double inside =
            value > lowest ? (value < highest ? value : highest) : lowest;
        numbers[c] = int32_t((inside + rounding) - rounding);
    }
}

// Puts numbers in the order of the file into bytes, of which the first is to have zeros
// where nothing has been put yet.
void put_bits(const coding& how,
              const int32_t* numbers,
              int64_t first,
              int64_t channels,
              uint8_t* file)
{
    const int each = 8 / how.bits, mask = (1 << how.bits) - 1;
    for (int64_t c = 0; c < channels; c++) {
        const int64_t place = first + c;
        const int value = numbers[how.descending ? channels - 1 - c : c] & mask;
        const int shift = shift_of(int(place % each), how.bits, how.big_endian);
        file[place / each] = uint8_t(file[place / each] | value << shift);
    }
}

// Puts rows of whole bytes, as put_bits() does others.
template <int Bits>
void put_bytes(const coding& how, const int32_t* numbers, int64_t channels, uint8_t* file)
{
    constexpr int each = 8 / Bits, mask = (1 << Bits) - 1;
    for (int64_t i = 0; i < channels / each; i++) {
        int byte = 0;
        for (int place = 0; place < each; place++) {
            const int64_t c = i * each + place;
            byte |= (numbers[how.descending ? channels - 1 - c : c] & mask)
                    << shift_of(place, Bits, how.big_endian);
        }
        file[i] = uint8_t(byte);
    }
}

template <class word>
void put_words(const coding& how, const int32_t* numbers, int64_t channels, uint8_t* file)
{
    for (int64_t c = 0; c < channels; c++) {
        auto value = word(numbers[how.descending ? channels - 1 - c : c]);
        if constexpr (sizeof value > 1)
            value = how.big_endian ? swapped(value) : value;
        std::memcpy(file + c * int64_t(sizeof value), &value, sizeof value);
    }
}

APERTURE_SIMD bool add_up(const float* powers,
                          int64_t samples,
                          int64_t cells,
                          float* lowest,
                          float* highest,
                          double* sum,
                          double* square)
{
    // relative to the first sample, squares keep their digits
    const float* first = powers;
    uint32_t largest = 0;
    for (int64_t s = 0; s < samples; s++, powers += cells)
        for (int64_t c = 0; c < cells; c++) {
            const float power = powers[c];
            const double away = double(power) - double(first[c]);
            lowest[c] = power < lowest[c] ? power : lowest[c];
            highest[c] = power > highest[c] ? power : highest[c];
            sum[c] += away;
            square[c] += away * away;
            largest = std::max(largest, kernels::host::magnitude(power));
        }
    return largest < kernels::host::infinite;
}

} // namespace

void check_bits(int bits)
{
    require(bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32,
            "bits",
            std::to_string(bits),
            "1, 2, 4, 8, 16 or 32");
}

void unpack(const coding& how,
            const void* from,
            int64_t rows,
            int64_t channels,
            const levels& scaling,
            float* powers)
{
    check_bits(how.bits);
    const auto* file = static_cast<const uint8_t*>(from);
    const bool whole = channels * how.bits % 8 == 0;
    const int64_t bytes = channels * how.bits / 8;
    const row_reader read = how.bits < 8 ? nullptr : reader_of(how);
    for (int64_t r = 0; r < rows; r++, powers += channels) {
        if (!whole)
            unpack_slowly(how, file, r * channels, channels, powers);
        else if (how.bits == 1)
            unpack_bits<1>(how, file + r * bytes, bytes, powers);
        else if (how.bits == 2)
            unpack_bits<2>(how, file + r * bytes, bytes, powers);
        else if (how.bits == 4)
            unpack_bits<4>(how, file + r * bytes, bytes, powers);
        else
            read(file + r * bytes, channels, powers);
        // the row is in the cache
        if (scaling.scale) {
            const int64_t row = r % scaling.rows * channels;
            scale_row(scaling.zero,
                      scaling.scale + row,
                      scaling.offset + row,
                      channels,
                      powers);
        }
    }
}

void pack(const coding& how,
          const float* powers,
          int64_t rows,
          int64_t channels,
          const double* offset,
          const double* step,
          int64_t level_rows,
          void* to)
{
    check_bits(how.bits);
    auto* file = static_cast<uint8_t*>(to);
    const bool whole = channels * how.bits % 8 == 0;
    const int64_t bytes = channels * how.bits / 8;
    if (!whole)
        std::memset(file, 0, size_t((rows * channels * how.bits + 7) / 8));
    const double lowest = how.is_signed ? -std::ldexp(1.0, how.bits - 1) : 0.0;
    const double highest = lowest + std::ldexp(1.0, how.bits) - 1;
    std::vector<int32_t> row(static_cast<size_t>(channels));
    for (int64_t r = 0; r < rows; r++, powers += channels) {
        if (how.bits == 32)
            std::memcpy(row.data(), powers, size_t(channels) * sizeof(float));
        else {
            const int64_t level = r % level_rows * channels;
            numbers_of(powers,
                       offset + level,
                       step + level,
                       lowest,
                       highest,
                       channels,
                       row.data());
        }
        uint8_t* out = file + r * bytes;
        if (!whole)
            put_bits(how, row.data(), r * channels, channels, file);
        else if (how.bits == 1)
            put_bytes<1>(how, row.data(), channels, out);
        else if (how.bits == 2)
            put_bytes<2>(how, row.data(), channels, out);
        else if (how.bits == 4)
            put_bytes<4>(how, row.data(), channels, out);
        else if (how.bits == 8)
            put_words<uint8_t>(how, row.data(), channels, out);
        else if (how.bits == 16)
            put_words<uint16_t>(how, row.data(), channels, out);
        else
            put_words<uint32_t>(how, row.data(), channels, out);
    }
}

bool describe(const float* powers,
              int64_t samples,
              int64_t cells,
              float* lowest,
              float* highest,
              double* mean,
              double* deviation)
{
    const auto count = size_t(cells);
    std::fill_n(lowest, count, std::numeric_limits<float>::infinity());
    std::fill_n(highest, count, -std::numeric_limits<float>::infinity());
    std::fill_n(mean, count, 0.0);
    std::fill_n(deviation, count, 0.0);
    const bool finite = add_up(powers, samples, cells, lowest, highest, mean, deviation);
    for (int64_t c = 0; c < cells; c++) {
        const double away = mean[c] / double(samples);
        const double variance = deviation[c] / double(samples) - away * away;
        deviation[c] = std::sqrt(std::max(variance, 0.0));
        mean[c] = double(powers[c]) + away;
    }
    return finite;
}

} // namespace gr::aperture::stored_powers
