/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/coding.h"
#include "formats/stored_words.h"
#include "kernels/common/not_numbers.h"
#include "kernels/common/simd.h"
#include "kernels/common/transpose_square.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

struct coding_facts {
    coding what;
    const char* name;
    int bits;
    bool plain;
    sample_type real, complex;
};

constexpr auto bytes = sample_type::s8, words = sample_type::s16,
               floats = sample_type::f32;
constexpr auto complex_bytes = sample_type::sc8, complex_words = sample_type::sc16,
               complex_floats = sample_type::fc32;

constexpr std::array<coding_facts, 20> all_codings{ {
    { coding::offset1, "offset1", 1, false, bytes, complex_bytes },
    { coding::offset2, "offset2", 2, false, bytes, complex_bytes },
    { coding::offset4, "offset4", 4, false, bytes, complex_bytes },
    { coding::offset8, "offset8", 8, false, bytes, complex_bytes },
    { coding::u8, "u8", 8, false, bytes, complex_bytes },
    { coding::s8, "s8", 8, true, bytes, complex_bytes },
    { coding::u16, "u16", 16, false, words, complex_words },
    { coding::u16_be, "u16_be", 16, false, words, complex_words },
    { coding::s16, "s16", 16, true, words, complex_words },
    { coding::s16_be, "s16_be", 16, false, words, complex_words },
    { coding::u32, "u32", 32, false, floats, complex_floats },
    { coding::u32_be, "u32_be", 32, false, floats, complex_floats },
    { coding::s32, "s32", 32, false, floats, complex_floats },
    { coding::s32_be, "s32_be", 32, false, floats, complex_floats },
    { coding::f32, "f32", 32, true, floats, complex_floats },
    { coding::f32_be, "f32_be", 32, false, floats, complex_floats },
    { coding::f64, "f64", 64, false, floats, complex_floats },
    { coding::f64_be, "f64_be", 64, false, floats, complex_floats },
    { coding::levels2_be, "levels2_be", 2, false, bytes, complex_bytes },
    { coding::s4_be, "s4_be", 4, false, bytes, complex_bytes },
} };

const coding_facts& facts(coding c)
{
    for (const auto& f : all_codings)
        if (f.what == c)
            return f;
    throw std::logic_error("coding without facts");
}

// Returns the component that some bits stand for, of a coding of less than a byte.
constexpr int8_t level_of(coding c, int bits)
{
    switch (c) {
    case coding::offset1:
        return levels_of_1_bit[bits];
    case coding::offset2:
        return levels_of_2_bits[bits];
    case coding::offset4:
        return int8_t(step_of_4_bits * (bits - 8));
    case coding::levels2_be:
        return guppi_levels_of_2_bits[bits];
    default: // s4_be
        return int8_t(bits < 8 ? bits : bits - 16);
    }
}

// Makes a table of the components of each byte, for components of less than a byte.
template <coding What, int Bits, bool Big>
struct byte_table {
    static constexpr int components = 8 / Bits;
    int8_t of[256][components];

    constexpr byte_table() : of()
    {
        for (int byte = 0; byte < 256; byte++)
            for (int i = 0; i < components; i++) {
                const int place = Big ? components - 1 - i : i;
                of[byte][i] =
                    level_of(What, (byte >> (Bits * place)) & ((1 << Bits) - 1));
            }
    }
};

template <coding What, int Bits, bool Big = false>
constexpr byte_table<What, Bits, Big> table_of{};

// Unpacks whole bytes, a vector of them at a time; returns how many it did. The level of
// each coding is that of 0, and something more for each bit.
template <coding What, int Bits, bool Big>
inline __attribute__((always_inline)) int64_t
unpack_vectors(const uint8_t* file, int64_t count, int8_t* out)
{
    using vector = kernels::bytes16;
    constexpr int in_byte = 8 / Bits;
    constexpr int8_t zero = level_of(What, 0);
    int64_t i = 0;
    for (; i + int64_t(sizeof(vector)) <= count; i += sizeof(vector)) {
        vector bytes, levels[in_byte];
        std::memcpy(&bytes, file + i, sizeof bytes);
        for (int k = 0; k < in_byte; k++) {
            const int lowest = Bits * (Big ? in_byte - 1 - k : k);
            levels[k] = vector{} + uint8_t(zero);
            for (int bit = 0; bit < Bits; bit++) {
                // bytes of their own: some compilers take the shift for an int
                const uint8_t place = uint8_t(1 << (lowest + bit));
                const vector mask = vector{} + place;
                const uint8_t step = uint8_t(level_of(What, 1 << bit) - zero);
                levels[k] += vector((bytes & mask) == mask) & (vector{} + step);
            }
        }
        // components of the first byte, then those of the second one
        kernels::transpose_square(levels);
        for (int k = 0; k < in_byte; k++)
            std::memcpy(
                out + i * in_byte + k * int(sizeof(vector)), &levels[k], sizeof(vector));
    }
    return i;
}

// The attribute that makes a version for each processor cannot stand before a template.
#define APERTURE_UNPACK(what, bits, big)                                                 \
    APERTURE_SIMD int64_t unpack_##what(const uint8_t* file, int64_t count, int8_t* out) \
    {                                                                                    \
        return unpack_vectors<coding::what, bits, big>(file, count, out);                \
    }
APERTURE_UNPACK(offset1, 1, false)
APERTURE_UNPACK(offset2, 2, false)
APERTURE_UNPACK(offset4, 4, false)
APERTURE_UNPACK(levels2_be, 2, true)
APERTURE_UNPACK(s4_be, 4, true)
#undef APERTURE_UNPACK

template <coding What, int Bits, bool Big = false, class Vectors>
void unpack_bits(
    Vectors vectors, const uint8_t* file, int skipped, int64_t count, int8_t* out)
{
    const auto& table = table_of<What, Bits, Big>;
    constexpr int in_byte = 8 / Bits;
    if (skipped > 0 && count > 0) {
        const int64_t first = std::min<int64_t>(count, in_byte - skipped);
        std::memcpy(out, table.of[*file++] + skipped, size_t(first));
        out += first;
        count -= first;
    }
    const int64_t whole = count / in_byte;
    for (int64_t i = vectors(file, whole, out); i < whole; i++)
        std::memcpy(out + i * in_byte, table.of[file[i]], in_byte);
    if (count > whole * in_byte)
        std::memcpy(out + whole * in_byte,
                    table.of[file[whole]],
                    size_t(count - whole * in_byte));
}

// Loops that the compiler makes for each generation of processors.

APERTURE_SIMD void unpack_offset8(const uint8_t* file, int64_t count, int8_t* out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = int8_t(file[i] ^ 0x80);
}

APERTURE_SIMD void unpack_u8(const uint8_t* file, int64_t count, int8_t* out)
{
    for (int64_t i = 0; i < count; i++) {
        const auto below = int8_t(file[i] ^ 0x80); // u8 minus 127.5, less a half
        // takes the even one of this and the next integer
        const auto even = int8_t(below + (below & 1));
        out[i] = below == 127 ? below : even;
    }
}

#define APERTURE_UNPACK(name, word, big, type, value)                      \
    APERTURE_SIMD void name(const uint8_t* file, int64_t count, type* out) \
    {                                                                      \
        for (int64_t i = 0; i < count; i++) {                              \
            const word v = word_at<word, big>(file, i);                    \
            out[i] = value;                                                \
        }                                                                  \
    }
APERTURE_UNPACK(unpack_u16, uint16_t, false, int16_t, int16_t(v ^ 0x8000))
APERTURE_UNPACK(unpack_u16_be, uint16_t, true, int16_t, int16_t(v ^ 0x8000))
APERTURE_UNPACK(unpack_s16_be, uint16_t, true, int16_t, int16_t(v))
// the difference is exact in 64 bits, and rounded once
APERTURE_UNPACK(unpack_u32, uint32_t, false, float, float(int64_t(v) - 2147483648))
APERTURE_UNPACK(unpack_u32_be, uint32_t, true, float, float(int64_t(v) - 2147483648))
APERTURE_UNPACK(unpack_s32, uint32_t, false, float, float(int32_t(v)))
APERTURE_UNPACK(unpack_s32_be, uint32_t, true, float, float(int32_t(v)))
#undef APERTURE_UNPACK

// Converts floats, and finds NaN and infinite ones.
#define APERTURE_UNPACK(name, word, big, value)                             \
    APERTURE_SIMD bool name(const uint8_t* file, int64_t count, float* out) \
    {                                                                       \
        uint32_t largest = 0;                                               \
        for (int64_t i = 0; i < count; i++) {                               \
            const word v = word_at<word, big>(file, i);                     \
            out[i] = value;                                                 \
            largest = std::max(largest, kernels::host::magnitude(out[i]));  \
        }                                                                   \
        return largest < kernels::host::infinite;                           \
    }
APERTURE_UNPACK(unpack_f32_be, uint32_t, true, as<float>(v))
APERTURE_UNPACK(unpack_f64, uint64_t, false, float(as<double>(v)))
APERTURE_UNPACK(unpack_f64_be, uint64_t, true, float(as<double>(v)))
#undef APERTURE_UNPACK

// The part of unpack() that reads integers.
void unpack_integers(coding c, const uint8_t* file, int skipped, int64_t count, void* to)
{
    auto* bytes_out = static_cast<int8_t*>(to);
    auto* words_out = static_cast<int16_t*>(to);
    auto* floats_out = static_cast<float*>(to);
    switch (c) {
    case coding::offset1:
        return unpack_bits<coding::offset1, 1>(
            unpack_offset1, file, skipped, count, bytes_out);
    case coding::offset2:
        return unpack_bits<coding::offset2, 2>(
            unpack_offset2, file, skipped, count, bytes_out);
    case coding::offset4:
        return unpack_bits<coding::offset4, 4>(
            unpack_offset4, file, skipped, count, bytes_out);
    case coding::levels2_be:
        return unpack_bits<coding::levels2_be, 2, true>(
            unpack_levels2_be, file, skipped, count, bytes_out);
    case coding::s4_be:
        return unpack_bits<coding::s4_be, 4, true>(
            unpack_s4_be, file, skipped, count, bytes_out);
    case coding::offset8:
        return unpack_offset8(file, count, bytes_out);
    case coding::u8:
        return unpack_u8(file, count, bytes_out);
    case coding::u16:
        return unpack_u16(file, count, words_out);
    case coding::u16_be:
        return unpack_u16_be(file, count, words_out);
    case coding::s16_be:
        return unpack_s16_be(file, count, words_out);
    case coding::u32:
        return unpack_u32(file, count, floats_out);
    case coding::u32_be:
        return unpack_u32_be(file, count, floats_out);
    case coding::s32:
        return unpack_s32(file, count, floats_out);
    case coding::s32_be:
        return unpack_s32_be(file, count, floats_out);
    default:
        std::memcpy(to, file, size_t(count) * bits_of(c) / 8);
    }
}

} // namespace

coding parse_coding(const std::string& parameter, const std::string& name)
{
    std::string all;
    for (const auto& f : all_codings) {
        if (f.name == name)
            return f.what;
        all += (all.empty() ? "" : ", ") + std::string(f.name);
    }
    require(false, parameter, name, "one of " + all);
    return {};
}

std::string name_of(coding c) { return facts(c).name; }
int bits_of(coding c) { return facts(c).bits; }
bool is_plain(coding c) { return facts(c).plain; }

sample_type type_of(coding c, bool complex)
{
    return complex ? facts(c).complex : facts(c).real;
}

bool unpack(coding c, const void* from, int skipped, int64_t count, void* to)
{
    const auto* file = static_cast<const uint8_t*>(from);
    auto* floats_out = static_cast<float*>(to);
    switch (c) {
    case coding::f32:
        return kernels::host::copy_numbers(from, size_t(count), floats_out);
    case coding::f32_be:
        return unpack_f32_be(file, count, floats_out);
    case coding::f64:
        return unpack_f64(file, count, floats_out);
    case coding::f64_be:
        return unpack_f64_be(file, count, floats_out);
    default:
        unpack_integers(c, file, skipped, count, to);
        return true;
    }
}

} // namespace gr::aperture::formats
