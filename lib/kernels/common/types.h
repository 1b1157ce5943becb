/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_TYPES_H
#define INCLUDED_APERTURE_KERNELS_COMMON_TYPES_H

#include <initializer_list>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gr::aperture {

using cfloat = std::complex<float>;

/*!
 * The type of one sample of one input. Complex integers are re, then im.
 *
 * sc4: one byte, re in the upper four bits, im in the lower, two's complement; -8 is read
 * as -7. s12, s10: packed; a stream of bits, the highest bit of a byte first, in which
 * the samples lie one after the other, highest bit first, two's complement.
 */
enum class sample_type { fc32, sc16, sc8, sc4, f32, s16, s12, s10, s8 };

bool is_complex(sample_type type);
//! Returns whether samples may begin within a byte: s12 and s10.
bool is_packed(sample_type type);
//! Returns the bits of one sample of one input.
int bits_of(sample_type type);
//! Returns the bytes of one sample of one input, for types that are not packed.
size_t size_of(sample_type type);
//! Returns the samples of each input in an item of a stream: 1; for packed types the
//! fewest that fill whole bytes, for one input 2 of s12 and 4 of s10.
int samples_in_item(sample_type type, int inputs);
//! Returns the bytes of `samples` samples of each of some inputs, interleaved sample by
//! sample; for packed types, `samples` is a multiple of samples_in_item().
size_t bytes_of(sample_type type, int64_t samples, int inputs);
std::string name_of(sample_type type);

/*!
 * \param parameter name of the parameter, for the error
 * \throws std::invalid_argument naming the parameter, its value and what is allowed
 */
sample_type parse_sample_type(const std::string& parameter,
                              const std::string& name,
                              std::initializer_list<sample_type> allowed);
//! The same, where all types are allowed.
sample_type parse_sample_type(const std::string& parameter, const std::string& name);

/*!
 * Throws "parameter: value is not allowed: rule" as std::invalid_argument, unless ok.
 */
void require(bool ok,
             const std::string& parameter,
             const std::string& value,
             const std::string& rule);
void require_range(const std::string& parameter,
                   int64_t value,
                   int64_t low,
                   int64_t high);

/*!
 * Returns the bytes of an item, as the product of its extents and the size of an element.
 * \throws std::invalid_argument spelling the product out if it does not fit into int,
 * with how many of the first extent would
 */
int item_size(const std::string& item,
              std::initializer_list<std::pair<const char*, int64_t>> extents,
              size_t element);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_TYPES_H */
