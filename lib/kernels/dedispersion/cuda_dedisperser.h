/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DEDISPERSION_CUDA_DEDISPERSER_H
#define INCLUDED_APERTURE_KERNELS_DEDISPERSION_CUDA_DEDISPERSER_H

#include "kernels/dedispersion/dedisperser.h"

namespace gr::aperture::kernels::cuda {

std::unique_ptr<dedisperser> make_dedisperser(const dedisperser::parameters& p,
                                              int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_DEDISPERSION_CUDA_DEDISPERSER_H */
