/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_CONJUGATION_H
#define INCLUDED_APERTURE_FORMATS_CONJUGATION_H

#include "kernels/common/types.h"
#include <cstdint>
#include <functional>

namespace gr::aperture::formats {

/*!
 * Negates the imaginary parts of complex samples, sc8, sc16 or fc32. The one integer that
 * has no negative becomes the highest.
 * \param clamped gets the index of each sample of which that is so
 */
void conjugate(sample_type type,
               void* samples,
               int64_t count,
               const std::function<void(int64_t)>& clamped);

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_CONJUGATION_H */
