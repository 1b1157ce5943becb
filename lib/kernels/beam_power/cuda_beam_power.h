/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAM_POWER_CUDA_BEAM_POWER_H
#define INCLUDED_APERTURE_KERNELS_BEAM_POWER_CUDA_BEAM_POWER_H

#include "kernels/beam_power/beam_power.h"
#include <string>
#include <vector>

namespace gr::aperture::kernels::cuda {

//! The implementations that GPU `device` has for these parameters, the one to take first:
//! as for beamformer. \throws std::invalid_argument if none
std::vector<std::string> beam_power_implementations(const beam_power::parameters& p,
                                                    int device);

//! \param implementation one of beam_power_implementations(); empty: the first
std::unique_ptr<beam_power> make_beam_power(const beam_power::parameters& p,
                                            int device,
                                            const std::string& implementation = "");

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_BEAM_POWER_CUDA_BEAM_POWER_H */
