/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_LINES_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_LINES_H

#include "kernels/common/types.h"
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels::alignment {

/*!
 * Returns samples without the narrow lines of their spectrum: carriers, and the
 * receivers' own direct current. Carriers that two inputs have in common make every lag
 * correlate, and do not tell the lag. Filters after a correlation cannot remove a strong
 * one: the samples begin and end somewhere, where a carrier is no line.
 *
 * Where there are lines, half a filter's length of zeros is at either end, at most 1/32
 * of the samples; samples of lines alone become zero throughout.
 *
 * \param samples, count finite
 * \returns nothing if there are no lines, or if there are fewer than 1024 samples
 */
std::vector<cfloat> without_lines(const cfloat* samples, int64_t count);

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_LINES_H */
