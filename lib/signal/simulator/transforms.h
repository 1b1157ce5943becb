/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_SIMULATOR_TRANSFORMS_H
#define INCLUDED_APERTURE_SIGNAL_SIMULATOR_TRANSFORMS_H

#include "kernels/common/fftw.h"
#include <vector>

namespace gr::aperture::kernels::host {

/*!
 * The band of the sources: a low-pass of 2*half_length + 1 taps with Kaiser's window
 * (beta 7.86: 80 dB) that passes |f| < 0.495 of the sample rate within 1e-4 and blocks
 * half the rate, where a delay by a fraction of a sample has no meaning.
 */
constexpr int half_length = 512;
//! A delayed low-pass is longer than its taps, but has fallen below 80 dB by then.
constexpr int margin = half_length + 8;

struct transform {
    plan_ptr forward, backward;
};

//! Returns one pair of plans, in place, for each size: two plans that FFTW made at
//! different times may round differently, and equal seeds would no longer give equal
//! samples.
const transform& transform_of(size_t size);

void execute_in_place(const plan_ptr& plan, float* data);

//! Returns the frequency response of the band over `size` bins, times `scale`.
std::vector<float> band_response(size_t size, double scale);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_TRANSFORMS_H */
