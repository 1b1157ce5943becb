/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_MASK_COUNTS_EMULATED_MASK_COUNTS_H
#define INCLUDED_APERTURE_KERNELS_MASK_COUNTS_EMULATED_MASK_COUNTS_H

#include "kernels/mask_counts/mask_counts.h"

namespace gr::aperture::kernels::emulated {

//! The mask counts of the host, on memory of the emulated device.
std::unique_ptr<mask_counts> make_mask_counts(const mask_counts::parameters& p);

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_MASK_COUNTS_EMULATED_MASK_COUNTS_H */
