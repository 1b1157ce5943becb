/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_PROTOTYPE_H
#define INCLUDED_APERTURE_KERNELS_PFB_PROTOTYPE_H

#include <string>
#include <vector>

namespace gr::aperture::kernels {

//! Makes pfb_prototype(); `hop` is n for complex samples and 2n for real ones.
std::vector<float> prototype(int hop, int taps, const std::string& window);

/*!
 * Returns the power that aliases into the middle +-1/2 spacing of a channel, in dB of the
 * power that belongs there, both of white noise: spectra every `hop` samples cannot tell
 * frequencies from others that are multiples of their rate apart.
 * \param length points of the transform
 */
double alias_of(const std::vector<float>& prototype, int length, int hop);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PFB_PROTOTYPE_H */
