/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PULSES_EMULATED_PULSE_SEARCH_H
#define INCLUDED_APERTURE_KERNELS_PULSES_EMULATED_PULSE_SEARCH_H

#include "kernels/pulses/pulse_search.h"

namespace gr::aperture::kernels::emulated {

//! The pulse search of the host, on memory of the emulated device.
std::unique_ptr<pulse_search> make_pulse_search(const pulse_search::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_EMULATED_PULSE_SEARCH_H */
