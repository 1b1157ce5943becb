/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_CUDA_POWER_DETECTOR_H
#define INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_CUDA_POWER_DETECTOR_H

#include "kernels/power_detector/power_detector.h"


namespace gr::aperture::kernels::cuda {

std::unique_ptr<power_detector> make_power_detector(const power_detector::parameters& p,
                                                    int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_CUDA_POWER_DETECTOR_H */
