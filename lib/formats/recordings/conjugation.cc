/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/conjugation.h"
#include "kernels/common/simd.h"
#include <algorithm>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

#define APERTURE_INLINE inline __attribute__((always_inline))

// Samples of integers are words whose upper half is the imaginary part, so that loops
// over them become vector instructions.
template <class word>
constexpr word upper = word(~(word(~word(0)) >> (4 * sizeof(word))));
template <class word>
constexpr word lowest = word(word(1) << (8 * sizeof(word) - 1));

template <class word>
APERTURE_INLINE bool any_lowest(const word* samples, int64_t count)
{
    word any = 0;
    for (int64_t i = 0; i < count; i++)
        any |= word((samples[i] & upper<word>) == lowest<word>);
    return any;
}

template <class word>
APERTURE_INLINE void negate_upper(word* samples, int64_t count)
{
    constexpr word highest = word(lowest<word> - 1) & upper<word>;
    for (int64_t i = 0; i < count; i++) {
        const word im = samples[i] & upper<word>;
        const word negative = im == lowest<word> ? highest : word(-im);
        samples[i] = word(samples[i] & word(~upper<word>)) | negative;
    }
}

// The attribute that makes a version for each processor cannot stand before a template.
#define APERTURE_CONJUGATE(word)                                      \
    APERTURE_SIMD bool has_lowest(const word* samples, int64_t count) \
    {                                                                 \
        return any_lowest(samples, count);                            \
    }                                                                 \
    APERTURE_SIMD void negate(word* samples, int64_t count)           \
    {                                                                 \
        negate_upper(samples, count);                                 \
    }
APERTURE_CONJUGATE(uint16_t)
APERTURE_CONJUGATE(uint32_t)
#undef APERTURE_CONJUGATE

// The sign of a float is its highest bit.
APERTURE_SIMD void negate(uint64_t* samples, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        samples[i] ^= lowest<uint64_t>;
}

template <class word>
void conjugate_integers(word* samples,
                        int64_t count,
                        const std::function<void(int64_t)>& clamped)
{
    constexpr int64_t some = 128;
    for (int64_t begin = 0; begin < count; begin += some) {
        const int64_t n = std::min(some, count - begin);
        if (has_lowest(samples + begin, n))
            for (int64_t i = begin; i < begin + n; i++)
                if ((samples[i] & upper<word>) == lowest<word>)
                    clamped(i);
    }
    negate(samples, count);
}

} // namespace

void conjugate(sample_type type,
               void* samples,
               int64_t count,
               const std::function<void(int64_t)>& clamped)
{
    switch (type) {
    case sample_type::sc8:
        return conjugate_integers(static_cast<uint16_t*>(samples), count, clamped);
    case sample_type::sc16:
        return conjugate_integers(static_cast<uint32_t*>(samples), count, clamped);
    case sample_type::fc32:
        return negate(static_cast<uint64_t*>(samples), count);
    default:
        throw std::logic_error("no complex samples");
    }
}

} // namespace gr::aperture::formats
