/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_SIMULATOR_HOST_ARRAY_SIMULATOR_H
#define INCLUDED_APERTURE_SIGNAL_SIMULATOR_HOST_ARRAY_SIMULATOR_H

#include "signal/simulator/array_simulator.h"

namespace gr::aperture::kernels::host {

//! Delays by overlap-save with FFTW, in single precision, one input after the other.
std::unique_ptr<array_simulator> make_array_simulator(const array_simulator::parameters&);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_HOST_ARRAY_SIMULATOR_H */
