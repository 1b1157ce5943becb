/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_EMULATED_BEAMFORMER_H
#define INCLUDED_APERTURE_KERNELS_EMULATED_BEAMFORMER_H

#include "kernels/beamformer.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace emulated {

//! The beamformer of the host, on memory of the emulated device.
std::unique_ptr<beamformer> make_beamformer(const beamformer::parameters& p);

} // namespace emulated
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_EMULATED_BEAMFORMER_H */
