/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_QUANTISE_H
#define INCLUDED_APERTURE_KERNELS_COMMON_QUANTISE_H

#include <cstddef>
#include <cstdint>

namespace gr::aperture::kernels::host {

//! Converts complex samples as floats, re, im, re, im ..., to sc8: rounded half to even,
//! within +-127, NaN as 0. Returns how many complex samples did not fit.
uint64_t quantise(const float* values, size_t count, int8_t* out);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_QUANTISE_H */
