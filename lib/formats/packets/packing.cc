/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/packets/packing.h"
#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

template <int Bits, class Code>
void pack_bits(const int8_t* from, int64_t components, uint8_t* packet, const Code& code)
{
    constexpr int in_byte = 8 / Bits;
    for (int64_t i = 0; i < components / in_byte; i++) {
        unsigned byte = 0;
        for (int k = 0; k < in_byte; k++)
            byte |= unsigned(code(from[i * in_byte + k])) << (Bits * k);
        packet[i] = uint8_t(byte);
    }
}

int code_of_2_bits(int8_t value)
{
    // half way between the levels
    constexpr int limit = (levels_of_2_bits[2] + levels_of_2_bits[3] + 1) / 2;
    return value < 0 ? value > -limit : value < limit ? 2 : 3;
}

int code_of_4_bits(int8_t value)
{
    constexpr int step = step_of_4_bits;
    const int shifted = value + 8 * step + step / 2;
    return std::clamp(shifted / step - (shifted % step < 0), 0, 15);
}

template <class Word, class Change>
void pack_words(const void* from, int64_t count, void* packet, const Change& change)
{
    for (int64_t i = 0; i < count; i++) {
        Word word;
        std::memcpy(&word,
                    static_cast<const char*>(from) + i * int64_t(sizeof word),
                    sizeof word);
        word = Word(change(word));
        std::memcpy(
            static_cast<char*>(packet) + i * int64_t(sizeof word), &word, sizeof word);
    }
}

} // namespace

bool can_pack(coding c)
{
    switch (c) {
    case coding::offset1:
    case coding::offset2:
    case coding::offset4:
    case coding::offset8:
    case coding::s8:
    case coding::u16:
    case coding::u16_be:
    case coding::s16:
    case coding::s16_be:
    case coding::f32:
    case coding::f32_be:
        return true;
    default:
        return false;
    }
}

void pack(coding c, const void* from, int64_t count, void* packet)
{
    const auto* values = static_cast<const int8_t*>(from);
    auto* bytes = static_cast<uint8_t*>(packet);
    switch (c) {
    case coding::offset1:
        return pack_bits<1>(values, count, bytes, [](int8_t v) { return v >= 0; });
    case coding::offset2:
        return pack_bits<2>(values, count, bytes, code_of_2_bits);
    case coding::offset4:
        return pack_bits<4>(values, count, bytes, code_of_4_bits);
    case coding::s8:
    case coding::s16:
    case coding::f32:
        std::memcpy(packet, from, size_t(count) * size_t(bits_of(c)) / 8);
        return;
    case coding::offset8:
        return pack_words<uint8_t>(from, count, packet, [](auto w) { return w ^ 0x80; });
    case coding::u16:
        return pack_words<uint16_t>(
            from, count, packet, [](auto w) { return w ^ 0x8000; });
    case coding::u16_be:
        return pack_words<uint16_t>(from, count, packet, [](auto w) {
            return __builtin_bswap16(uint16_t(w ^ 0x8000));
        });
    case coding::s16_be:
        return pack_words<uint16_t>(
            from, count, packet, [](auto w) { return __builtin_bswap16(w); });
    case coding::f32_be:
        return pack_words<uint32_t>(
            from, count, packet, [](auto w) { return __builtin_bswap32(w); });
    default:
        throw std::logic_error("a coding that cannot be packed");
    }
}

} // namespace gr::aperture::formats
