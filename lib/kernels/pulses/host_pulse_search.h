/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PULSES_HOST_PULSE_SEARCH_H
#define INCLUDED_APERTURE_KERNELS_PULSES_HOST_PULSE_SEARCH_H

#include "kernels/pulses/pulse_search.h"

namespace gr::aperture::kernels::host {

//! All is done when search() returns. Of what does not fit into a list the weakest are
//! left out.
std::unique_ptr<pulse_search> make_pulse_search(const pulse_search::parameters& p);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_HOST_PULSE_SEARCH_H */
