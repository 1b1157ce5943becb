/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_STORED_WORDS_H
#define INCLUDED_APERTURE_FORMATS_STORED_WORDS_H

#include <cstdint>
#include <cstring>

namespace gr::aperture::formats {

//! Returns a word with its bytes in the other order.
inline uint16_t swapped(uint16_t v) { return __builtin_bswap16(v); }
inline uint32_t swapped(uint32_t v) { return __builtin_bswap32(v); }
inline uint64_t swapped(uint64_t v) { return __builtin_bswap64(v); }

//! Returns word i of a file, which need not be aligned, with its bytes in the other order
//! if they are swapped.
template <class word, bool Swap>
inline word word_at(const uint8_t* file, int64_t i)
{
    word v;
    std::memcpy(&v, file + i * int64_t(sizeof v), sizeof v);
    if constexpr (Swap)
        return swapped(v);
    else
        return v;
}

//! Returns the number whose bits a word has.
template <class number, class word>
inline number as(word bits)
{
    static_assert(sizeof(number) == sizeof(word));
    number v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_STORED_WORDS_H */
