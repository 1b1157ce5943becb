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
 * What cosines are multiplied by so that half precision is nearest to them: the products
 * are rounded to 3e-5 of the largest, in place of 9e-5, and are then `matrix_gain` times
 * the cosines.
 */
constexpr double matrix_scale = 1.1149, matrix_gain = 1.1151996;
constexpr double twiddle_scale = 1 / (8 * matrix_gain);
constexpr double transform_scale = matrix_gain * twiddle_scale * matrix_gain;
//! With a prototype whose squares have the sum 1, samples of an rms of 20 are near 20 in
//! half precision, too, and no samples leave its range.
inline double filter_scale_of(int channels) { return std::sqrt(double(channels)); }

// Of each rank of the cluster that transforms a spectrum.
//! Rows [rank][2][64][64] of both matrices, in the swizzled order of shared memory.
//! \param real samples; see pfb/tensor/real.cuh \param inverted complex ones
std::vector<uint16_t> make_matrices(int channels, bool inverted, bool real);
//! [rank][steps][consumer_threads][2] \param inverted complex samples
std::vector<float2> make_twiddles(int channels, bool inverted, bool real);
//! What the second matrix is for c = 0 of real samples: [steps][4][lane][4] words,
//! as mma takes them, of eight real and as many imaginary parts.
std::vector<uint16_t> make_first_rows(int channels, bool inverted);
//! Of a prototype that is not all zeros; otherwise 1.
double norm_of(const std::vector<float>& prototype);
/*!
 * The filter has whole coefficients of 16 bits, so large that no sum of products
 * leaves 23 bits. What is added up is then multiplied by `whole_unit`.
 */
constexpr double whole_unit = 1. / (1 << 14);
//! Makes a prototype [tap][step] such coefficients. \return what is filtered is
//! multiplied by this
double make_whole(std::vector<float>& prototype, int step);

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TABLES_H */
