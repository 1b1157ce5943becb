/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TABLES_H
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TABLES_H

#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels::cuda::tensor {

/*!
 * The factor of the cosines in the matrices, chosen so that half precision is nearest
 * to them: they are rounded to 3e-5 of the largest, and not to 9e-5, and are
 * `matrix_gain` times the cosines.
 */
constexpr double matrix_scale = 1.1149, matrix_gain = 1.1151996;
constexpr double twiddle_scale = 1 / (8 * matrix_gain);
constexpr double transform_scale = matrix_gain * twiddle_scale * matrix_gain;
//! Returns what filtered samples are multiplied by. With a prototype whose squares have
//! the sum 1, samples with an rms of 20 have an rms near 20 in half precision, too, and
//! none exceed its range.
inline double filter_scale_of(int channels) { return std::sqrt(double(channels)); }

// The tables of all ranks of the cluster that transforms a spectrum.
//! Makes the rows [rank][2][64][64] of both matrices, in the swizzled order of shared
//! memory.
//! \param real samples; see pfb/tensor/real.cuh
//! \param inverted complex ones
std::vector<uint16_t> make_matrices(int channels, bool inverted, bool real);
//! Makes the twiddles [rank][steps][consumer_threads][2].
//! \param inverted complex samples
std::vector<float2> make_twiddles(int channels, bool inverted, bool real);
//! Makes the second matrix for c = 0 of real samples: [steps][4][lane][4] words, as mma
//! takes them, of eight real and as many imaginary parts.
std::vector<uint16_t> make_first_rows(int channels, bool inverted);
//! Returns the square root of the sum of squares of a prototype, or 1 if that is 0.
double norm_of(const std::vector<float>& prototype);
/*!
 * The coefficients of the filter are integers of 16 bits, so large that no sum of
 * products exceeds 23 bits. The sums are then multiplied by `whole_unit`.
 */
constexpr double whole_unit = 1. / (1 << 14);
//! Makes the coefficients of a prototype [tap][step] such integers.
//! \return what filtered samples are multiplied by for it
double make_whole(std::vector<float>& prototype, int step);

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TABLES_H */
