/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_CODING_H
#define INCLUDED_APERTURE_FORMATS_CODING_H

#include "kernels/common/types.h"
#include <cstdint>
#include <string>

namespace gr::aperture::formats {

/*!
 * The coding of a component (re or im, or a real sample) in a file.
 *
 * Components of less than a byte begin at the lowest bit of each byte, as VDIF has them,
 * larger ones are little-endian; where the name ends with `_be`, the first one is in the
 * highest bits, and high bytes come first.
 */
enum class coding {
    offset1,
    offset2,
    offset4,
    levels2_be,
    s4_be,
    offset8,
    u8,
    s8,
    u16,
    u16_be,
    s16,
    s16_be,
    u32,
    u32_be,
    s32,
    s32_be,
    f32,
    f32_be,
    f64,
    f64_be,
};

/*!
 * The levels of components of less than a byte: whole numbers, with an rms of about 20
 * steps for noise that was digitised with the usual thresholds.
 *
 *  - offset1: 0, 1 become -20, 20.
 *  - offset2: 0 to 3 become -30, -9, 9, 30. The ratio 3.333 lies between the optimum for
 *    Gaussian noise, 3.3165, and the 3.3359 that VLBI programs use.
 *  - offset4: c becomes 7 (c - 8).
 *
 * Channels keep the values that other programs read, as their gains are known:
 *
 *  - levels2_be: 0 to 3 become 40, 12, -12, -40, as GUPPI raw has them.
 *  - s4_be: two's complement, -8 to 7.
 *
 * A byte without a sign is read in one of two ways:
 *
 *  - offset8: c becomes c - 128, as in VDIF, whose 8 bits hold a signed integer. - u8: c
 *  - 127.5, rounded half to even and at most 127, as receivers of 8 bits write (RTL-SDR):
 *  their zero lies between two levels. Half a step in all samples of all inputs would be
 *  a signal that they have in common; rounded like this, the halves cancel, and are noise
 *  of a quarter of a step squared.
 */
inline constexpr int8_t levels_of_1_bit[] = { -20, 20 };
inline constexpr int8_t levels_of_2_bits[] = { -30, -9, 9, 30 };
inline constexpr int8_t step_of_4_bits = 7;
inline constexpr int8_t guppi_levels_of_2_bits[] = { 40, 12, -12, -40 };

//! \throws std::invalid_argument naming the parameter, its value and what is allowed
coding parse_coding(const std::string& parameter, const std::string& name);
std::string name_of(coding c);
//! Returns the bits of a component in a file.
int bits_of(coding c);
//! Returns whether components are in a file as they are in memory.
bool is_plain(coding c);
//! Returns the type of a sample in memory: s8 or sc8 for at most 8 bits, s16 or sc16 for
//! 16 bits (offset binary has 32768 subtracted), else f32 or fc32.
sample_type type_of(coding c, bool complex);

/*!
 * Converts components of a file into those of type_of().
 * \param file the byte in which the first component begins
 * \param skipped components in that byte before the first one
 * \returns whether all are finite: none is NaN or infinite as a float
 */
bool unpack(coding c, const void* file, int skipped, int64_t components, void* out);

//! Returns the bytes from the beginning of the byte of component `first` to behind that
//! of the last of `components`.
inline int64_t bytes_of(coding c, int64_t first, int64_t components)
{
    return ((first + components) * bits_of(c) + 7) / 8 - first * bits_of(c) / 8;
}

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_CODING_H */
