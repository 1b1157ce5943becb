/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAM_POWER_EMULATED_BEAM_POWER_H
#define INCLUDED_APERTURE_KERNELS_BEAM_POWER_EMULATED_BEAM_POWER_H

#include "kernels/beam_power/beam_power.h"

namespace gr::aperture::kernels::emulated {

//! The beam power of the host, on memory of the emulated device.
std::unique_ptr<beam_power> make_beam_power(const beam_power::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_BEAM_POWER_EMULATED_BEAM_POWER_H */
