/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_MEANS_EMULATED_POWER_MEANS_H
#define INCLUDED_APERTURE_KERNELS_POWER_MEANS_EMULATED_POWER_MEANS_H

#include "kernels/power_means/power_means.h"

namespace gr::aperture::kernels::emulated {

//! The power means of the host, on memory of the emulated device.
std::unique_ptr<power_means> make_power_means(const power_means::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_POWER_MEANS_EMULATED_POWER_MEANS_H */
