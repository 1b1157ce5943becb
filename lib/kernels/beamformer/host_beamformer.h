/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_HOST_BEAMFORMER_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_HOST_BEAMFORMER_H

#include "kernels/beamformer/beamformer.h"

namespace gr::aperture::kernels::host {

//! Tiles of beams over tiles of time. `vectors` is one of
//! beam_vectors(), or empty: the best.
std::unique_ptr<beamformer> make_beamformer(const beamformer::parameters& p,
                                            const std::string& vectors = "");

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_HOST_BEAMFORMER_H */
