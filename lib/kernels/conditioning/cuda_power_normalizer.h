/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CONDITIONING_CUDA_POWER_NORMALIZER_H
#define INCLUDED_APERTURE_KERNELS_CONDITIONING_CUDA_POWER_NORMALIZER_H

#include "kernels/conditioning/power_normalizer.h"

namespace gr::aperture::kernels::cuda {

//! Statistics of all columns, the bandpass, flags of channels, and then row by row.
std::unique_ptr<power_normalizer>
make_power_normalizer(const power_normalizer::parameters& p, int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_CONDITIONING_CUDA_POWER_NORMALIZER_H */
