/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_MEANS_HOST_POWER_MEANS_H
#define INCLUDED_APERTURE_KERNELS_POWER_MEANS_HOST_POWER_MEANS_H

#include "kernels/power_means/power_means.h"

namespace gr::aperture::kernels::host {

//! Power means on the host.
std::unique_ptr<power_means> make_power_means(const power_means::parameters& p);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_POWER_MEANS_HOST_POWER_MEANS_H */
