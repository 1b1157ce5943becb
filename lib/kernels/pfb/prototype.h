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

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PFB_PROTOTYPE_H */
