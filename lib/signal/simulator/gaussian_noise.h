/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_SIMULATOR_GAUSSIAN_NOISE_H
#define INCLUDED_APERTURE_SIGNAL_SIMULATOR_GAUSSIAN_NOISE_H

#include "kernels/common/types.h"
#include <string>

namespace gr::aperture::kernels::host {

//! Returns the number of the noise process of that name (FNV-1a, 64 bits).
uint64_t noise_process(const std::string& name);

/*!
 * Makes complex white Gaussian noise with E|n|^2 = 1 from any sample on: sample t of a
 * process is a function of the seed, the process and t alone.
 *
 * Samples 2q and 2q+1 are made of the four words of Philox4x32-10 (Salmon et al. 2011,
 * "Parallel random numbers: as easy as 1, 2, 3") with the seed as the key and (q,
 * process) as the counter: the first two words give the first sample, u and v, by Box and
 * Muller's sqrt(-ln u) exp(2 pi i v), with u = (floor(word/2) + 1/2) / 2^31 and v = word
 * / 2^32.
 *
 * \param first even, may be negative
 * \param count even
 */
void gaussian_noise(
    uint64_t seed, uint64_t process, int64_t first, size_t count, cfloat* noise);

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_GAUSSIAN_NOISE_H */
