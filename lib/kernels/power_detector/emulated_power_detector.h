/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_EMULATED_POWER_DETECTOR_H
#define INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_EMULATED_POWER_DETECTOR_H

#include "kernels/power_detector/power_detector.h"

namespace gr::aperture::kernels::emulated {

//! The power detector of the host, on memory of the emulated device.
std::unique_ptr<power_detector> make_power_detector(const power_detector::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_EMULATED_POWER_DETECTOR_H */
