/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_COLUMNS_H
#define INCLUDED_APERTURE_FORMATS_COLUMNS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::aperture::formats {

//! Takes one column of interleaved samples: to[t] = from[t * stride].
//! \param size bytes of a sample: 1, 2, 4 or 8
void take_column(
    const void* from, int64_t stride, int64_t samples, size_t size, void* to);

/*!
 * Takes columns of interleaved samples apart: to[i][t] = from[t * stride + columns[i]].
 * Nothing behind the last sample that is taken is read.
 * \param size bytes of a sample: 1, 2, 4 or 8
 */
void take_columns(const void* from,
                  int64_t stride,
                  const std::vector<int64_t>& columns,
                  int64_t samples,
                  size_t size,
                  const std::vector<char*>& to);

/*!
 * Interleaves columns: to[t * columns + i] = from[i * distance + t].
 * \param distance samples from one column to the next
 */
void interleave_columns(const void* from,
                        int64_t distance,
                        int columns,
                        int64_t samples,
                        size_t size,
                        void* to);

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_COLUMNS_H */
