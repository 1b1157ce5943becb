/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_EMULATED_BEAMFORMER_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_EMULATED_BEAMFORMER_H

#include "kernels/beamformer/beamformer.h"

namespace gr::aperture::kernels::emulated {

//! The beamformer of the host, on memory of the emulated device.
std::unique_ptr<beamformer> make_beamformer(const beamformer::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_EMULATED_BEAMFORMER_H */
