/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_BEAMFORMER_H
#define INCLUDED_APERTURE_KERNELS_CUDA_BEAMFORMER_H

#include "kernels/beamformer.h"
#include <string>
#include <vector>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

//! The implementations that GPU `device` has for these parameters, the one to take first:
//! "wgmma f16", "mma f16" or "fp32". \throws std::invalid_argument if none
std::vector<std::string> beamformer_implementations(const beamformer::parameters& p,
                                                    int device);

//! \param implementation one of beamformer_implementations(); empty: the first
std::unique_ptr<beamformer> make_beamformer(const beamformer::parameters& p,
                                            int device,
                                            const std::string& implementation = "");

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_BEAMFORMER_H */
