/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_TYPES_H
#define INCLUDED_APERTURE_KERNELS_TYPES_H

#include <initializer_list>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gr {
namespace aperture {

using cfloat = std::complex<float>;

//! What one sample of one input is. Complex integers are re, then im.
enum class sample_type { fc32, sc16, sc8, f32, s16, s8 };

bool is_complex(sample_type type);
//! Bytes of one sample of one input.
size_t size_of(sample_type type);
std::string name_of(sample_type type);

/*!
 * \param parameter name of the parameter, for the error
 * \throws std::invalid_argument naming the parameter, its value and what is allowed
 */
sample_type parse_sample_type(const std::string& parameter,
                              const std::string& name,
                              std::initializer_list<sample_type> allowed);

/*!
 * "parameter: value is not allowed: rule" as std::invalid_argument, unless ok.
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
 * Bytes of an item, as the product of its extents and the size of an element.
 * \throws std::invalid_argument spelling the product out if it does not fit into int
 */
int item_size(const std::string& item,
              std::initializer_list<std::pair<const char*, int64_t>> extents,
              size_t element);

} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_TYPES_H */
