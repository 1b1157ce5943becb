/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PULSES_CUDA_PULSE_SEARCH_H
#define INCLUDED_APERTURE_KERNELS_PULSES_CUDA_PULSE_SEARCH_H

#include "kernels/pulses/pulse_search.h"

namespace gr::aperture::kernels::cuda {

/*!
 * A thread block for each series reads its values once, tile by tile; sums of a tile stay
 * in shared memory. The lists are in pinned memory of the host, which the kernel writes
 * to: they are short, and nothing is copied that is not there.
 */
std::unique_ptr<pulse_search> make_pulse_search(const pulse_search::parameters& p,
                                                int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_CUDA_PULSE_SEARCH_H */
