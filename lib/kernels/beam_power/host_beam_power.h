/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAM_POWER_HOST_BEAM_POWER_H
#define INCLUDED_APERTURE_KERNELS_BEAM_POWER_HOST_BEAM_POWER_H

#include "kernels/beam_power/beam_power.h"

namespace gr::aperture::kernels::host {

//! Beams of a tile are detected while they are in the cache. `vectors` is one of
//! beam_vectors(), or empty: the best.
std::unique_ptr<beam_power> make_beam_power(const beam_power::parameters& p,
                                            const std::string& vectors = "");

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_BEAM_POWER_HOST_BEAM_POWER_H */
