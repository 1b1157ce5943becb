/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_HOST_ARRAY_SIMULATOR_H
#define INCLUDED_APERTURE_KERNELS_HOST_ARRAY_SIMULATOR_H

#include "kernels/array_simulator.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace host {

//! Delays by overlap-save with FFTW, in single precision, one input after the other.
std::unique_ptr<array_simulator> make_array_simulator(const array_simulator::parameters&);

} // namespace host
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_HOST_ARRAY_SIMULATOR_H */
