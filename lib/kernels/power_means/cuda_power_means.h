/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_MEANS_CUDA_POWER_MEANS_H
#define INCLUDED_APERTURE_KERNELS_POWER_MEANS_CUDA_POWER_MEANS_H

#include "kernels/power_means/power_means.h"

namespace gr::aperture::kernels::cuda {

//! Power means on a GPU of this index.
std::unique_ptr<power_means> make_power_means(const power_means::parameters& p,
                                              int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_POWER_MEANS_CUDA_POWER_MEANS_H */
