/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_CUDA_BEAMFORMER_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_CUDA_BEAMFORMER_H

#include "kernels/beamformer/beamformer.h"
#include <string>
#include <vector>

namespace gr::aperture::kernels::cuda {

/*!
 * The implementations that GPU `device` has for these parameters, the one to take first:
 *
 *     wgmma f16   sc8 and sc4 on Hopper, if a row of an input is a multiple of 16 bytes
 *     mma f16     sc8 and sc4, any number of times, from Turing on
 *     fp32        fc32
 *
 * The first two have weights in half precision and sums in single precision, and gain in
 * the weights: the error of fc32 output is 3e-4 of its rms at most, and at an rms of 15
 * steps 0.3% of the numbers of sc8 output differ by a step from those of exact weights.
 * Weights may be 2^-28 of the largest of all before they lose precision. fp32 has the
 * error of single-precision sums.
 *
 * Numbers are rounded up to tiles. wgmma f16: 16 inputs (of more than 128: 32); 32 beams
 * (up to 32 beams, or more than 512 inputs), 64 (up to 64 beams, or more than 256 inputs)
 * or 128; 128 times of 128 beams, otherwise 192. mma f16: 32 inputs, 32 beams, 64 times.
 * fp32: 16 inputs, 32 beams, 64 times.
 *
 * \throws std::invalid_argument if there is none
 */
std::vector<std::string> beamformer_implementations(const beamformer::parameters& p,
                                                    int device);

//! \param implementation one of beamformer_implementations(); empty: the first
std::unique_ptr<beamformer> make_beamformer(const beamformer::parameters& p,
                                            int device,
                                            const std::string& implementation = "");

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_CUDA_BEAMFORMER_H */
