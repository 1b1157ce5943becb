/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CONDITIONING_EMULATED_POWER_NORMALIZER_H
#define INCLUDED_APERTURE_KERNELS_CONDITIONING_EMULATED_POWER_NORMALIZER_H

#include "kernels/conditioning/power_normalizer.h"

namespace gr::aperture::kernels::emulated {

//! The power normalizer of the host, on memory of the emulated device.
std::unique_ptr<power_normalizer>
make_power_normalizer(const power_normalizer::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_CONDITIONING_EMULATED_POWER_NORMALIZER_H */
