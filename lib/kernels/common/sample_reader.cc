/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/sample_reader.h"
#include "kernels/common/simd.h"

namespace gr::aperture::kernels::host {

namespace {

/*!
 * Separates one input from several interleaved ones. A processor shuffles whole vectors
 * where the compiler knows how many there are.
 */
#define APERTURE_SEPARATE(sample)                                   \
    APERTURE_SIMD void separate(                                    \
        const sample* in, sample* out, size_t count, size_t stride) \
    {                                                               \
        if (stride == 2)                                            \
            for (size_t i = 0; i < count; i++)                      \
                out[i] = in[2 * i];                                 \
        else if (stride == 4)                                       \
            for (size_t i = 0; i < count; i++)                      \
                out[i] = in[4 * i];                                 \
        else                                                        \
            for (size_t i = 0; i < count; i++)                      \
                out[i] = in[i * stride];                            \
    }
APERTURE_SEPARATE(uint8_t)
APERTURE_SEPARATE(uint16_t)
APERTURE_SEPARATE(uint32_t)
APERTURE_SEPARATE(uint64_t)
#undef APERTURE_SEPARATE

//! Bytes that a processor gets from memory together.
constexpr size_t cache_line = 64;

//! Separates neighbouring inputs of many, so that each cache line is read once: `span`
//! samples of the first one, then those of the next.
template <class Sample>
void separate_together(const Sample* in,
                       Sample* out,
                       size_t inputs,
                       size_t count,
                       size_t stride,
                       size_t span)
{
    constexpr size_t most = cache_line / sizeof(Sample);
    if (inputs == most)
        for (size_t i = 0; i < count; i++)
            for (size_t each = 0; each < most; each++)
                out[each * span + i] = in[i * stride + each];
    else
        for (size_t i = 0; i < count; i++)
            for (size_t each = 0; each < inputs; each++)
                out[each * span + i] = in[i * stride + each];
}

//! Unpacks sc4, with -8 read as -7.
APERTURE_SIMD void
unpack_nibbles(const int8_t* in, float* out, size_t count, size_t stride)
{
    for (size_t i = 0; i < count; i++) {
        const int8_t both = in[i * stride];
        out[2 * i] = std::max(both >> 4, -7);
        out[2 * i + 1] = std::max(int8_t(both * 16) >> 4, -7);
    }
}

//! Unpacks samples of 9 to 12 bits, an even number; `first` and `stride` in bits. They
//! begin at even bits, so each lies within two bytes.
APERTURE_SIMD void unpack_bits(
    const uint8_t* in, size_t first, float* out, size_t count, size_t stride, int bits)
{
    for (size_t i = 0; i < count; i++) {
        const size_t at = first + i * stride;
        const int two_bytes = in[at / 8] << 8 | in[at / 8 + 1];
        out[i] = int16_t(two_bytes << at % 8) >> (16 - bits);
    }
}

/*!
 * Counts samples with a component of -128, each once; one function for samples in a row,
 * and one for those of one of several inputs. Sums of 16 bits let a vector count as many
 * samples as it holds.
 */
#define APERTURE_COUNT(name, type, is_minimum)                               \
    APERTURE_SIMD uint64_t name(const type* in, size_t count, size_t stride) \
    {                                                                        \
        uint64_t total = 0;                                                  \
        for (size_t first = 0; first < count; first += 1 << 15) {            \
            const size_t end = std::min<size_t>(count, first + (1 << 15));   \
            uint16_t found = 0;                                              \
            if (stride == 1)                                                 \
                for (size_t i = first; i < end; i++)                         \
                    found = uint16_t(found + (is_minimum(in[i])));           \
            else                                                             \
                for (size_t i = first; i < end; i++)                         \
                    found = uint16_t(found + (is_minimum(in[i * stride])));  \
            total += found;                                                  \
        }                                                                    \
        return total;                                                        \
    }
inline bool real_minimum(uint8_t v) { return v == 0x80; }
inline bool complex_minimum(uint16_t v)
{
    return ((v & 0xff) == 0x80) | (v >> 8 == 0x80);
}
//! Returns whether a component of sc4 is -8.
inline bool nibble_minimum(uint8_t v) { return ((v & 0xf0) == 0x80) | ((v & 0xf) == 8); }
APERTURE_COUNT(count_real_minima, uint8_t, real_minimum)
APERTURE_COUNT(count_complex_minima, uint16_t, complex_minimum)
APERTURE_COUNT(count_nibble_minima, uint8_t, nibble_minimum)
#undef APERTURE_COUNT

#define APERTURE_CONVERT(type)                                            \
    APERTURE_SIMD void convert_all(const type* x, float* y, size_t count) \
    {                                                                     \
        for (size_t i = 0; i < count; i++)                                \
            y[i] = value_of(x[i]);                                        \
    }
APERTURE_CONVERT(float)
APERTURE_CONVERT(int16_t)
APERTURE_CONVERT(int8_t)
#undef APERTURE_CONVERT

} // namespace

void convert(const float* x, float* y, size_t count) { convert_all(x, y, count); }
void convert(const int16_t* x, float* y, size_t count) { convert_all(x, y, count); }
void convert(const int8_t* x, float* y, size_t count) { convert_all(x, y, count); }

sample_reader::sample_reader(sample_type type, int inputs, int64_t most)
    : d_type(type), d_inputs(inputs)
{
    const auto samples = size_t(most);
    if (inputs > 1 || type == sample_type::sc4 || is_packed(type))
        d_separate = make_fft_buffer(std::max(samples * (is_complex(type) ? 2 : 1),
                                              samples * cache_line / sizeof(float)));
}

const void* sample_reader::samples_of(
    const void* port, int64_t first, size_t count, int i, bool in_order)
{
    const int64_t start = first * d_inputs + i;
    void* out = d_separate.get();
    if (d_type == sample_type::sc4) {
        auto* in = static_cast<const int8_t*>(port) + start;
        unpack_nibbles(in, static_cast<float*>(out), count, d_inputs);
    } else if (is_packed(d_type)) {
        // samples before the first one lie at a whole number of bytes, too
        const int bits = bits_of(d_type);
        const int64_t whole = start & ~int64_t(7);
        unpack_bits(static_cast<const uint8_t*>(port) + whole * bits / 8,
                    (start - whole) * bits,
                    static_cast<float*>(out),
                    count,
                    size_t(d_inputs) * bits,
                    bits);
    } else {
        const size_t size = size_of(d_type);
        const char* in = static_cast<const char*>(port) + start * int64_t(size);
        if (d_inputs == 1)
            return in;
        const int together = int(cache_line / size);
        if (in_order && d_inputs > 4) {
            if (i % together == 0 || d_separated != first)
                separate_samples(in - i % together * int64_t(size),
                                 out,
                                 std::min(together, d_inputs - i / together * together),
                                 count,
                                 size);
            d_separated = first;
            return static_cast<char*>(out) + i % together * count * size;
        }
        separate_samples(in, out, 1, count, size);
    }
    return out;
}

void sample_reader::floats_of(const void* samples, size_t count, float* to) const
{
    const size_t components = count * (is_complex(d_type) ? 2 : 1);
    if (d_type == sample_type::sc8 || d_type == sample_type::s8)
        convert(static_cast<const int8_t*>(samples), to, components);
    else if (d_type == sample_type::sc16 || d_type == sample_type::s16)
        convert(static_cast<const int16_t*>(samples), to, components);
    else
        convert(static_cast<const float*>(samples), to, components);
}

void sample_reader::separate_samples(
    const char* in, void* out, int together, size_t count, size_t size) const
{
    const auto run = [&](auto sample) {
        using type = decltype(sample);
        const auto* from = reinterpret_cast<const type*>(in);
        auto* to = static_cast<type*>(out);
        if (together == 1)
            separate(from, to, count, d_inputs);
        else
            separate_together(from, to, together, count, d_inputs, count);
    };
    if (size == 1)
        run(uint8_t());
    else if (size == 2)
        run(uint16_t());
    else if (size == 4)
        run(uint32_t());
    else
        run(uint64_t());
}

uint64_t sample_reader::count_lowest(const void* port,
                                     const void* samples,
                                     int64_t first,
                                     int64_t counted,
                                     int64_t end,
                                     int i) const
{
    if (counted >= end)
        return 0;
    const int64_t count = end - counted;
    if (d_type == sample_type::sc4)
        return count_nibble_minima(static_cast<const uint8_t*>(port) +
                                       (first + counted) * d_inputs + i,
                                   count,
                                   d_inputs);
    if (d_type == sample_type::s8)
        return count_real_minima(
            static_cast<const uint8_t*>(samples) + counted, count, 1);
    if (d_type == sample_type::sc8)
        return count_complex_minima(
            static_cast<const uint16_t*>(samples) + counted, count, 1);
    return 0;
}

} // namespace gr::aperture::kernels::host
