/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DEDISPERSION_HOST_DEDISPERSER_H
#define INCLUDED_APERTURE_KERNELS_DEDISPERSION_HOST_DEDISPERSER_H

#include "kernels/dedispersion/dedisperser.h"

namespace gr::aperture::kernels::host {

std::unique_ptr<dedisperser> make_dedisperser(const dedisperser::parameters& p);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_DEDISPERSION_HOST_DEDISPERSER_H */
