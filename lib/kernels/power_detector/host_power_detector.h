/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_HOST_POWER_DETECTOR_H
#define INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_HOST_POWER_DETECTOR_H

#include "kernels/power_detector/power_detector.h"

namespace gr::aperture::kernels::host {

//! Sums in fp32 over at most 512 spectra, and in double precision over those.
std::unique_ptr<power_detector> make_power_detector(const power_detector::parameters& p);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_HOST_POWER_DETECTOR_H */
