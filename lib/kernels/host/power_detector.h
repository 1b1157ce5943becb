/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_HOST_POWER_DETECTOR_H
#define INCLUDED_APERTURE_KERNELS_HOST_POWER_DETECTOR_H

#include "kernels/power_detector.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace host {

//! Sums in fp32 over at most 512 spectra, and in double precision over those.
std::unique_ptr<power_detector> make_power_detector(const power_detector::parameters& p);

} // namespace host
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_HOST_POWER_DETECTOR_H */
