/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/mask_counts/mask_counts.h"

namespace gr::aperture::kernels {

void mask_counts::parameters::check() const { mask.check(); }

} // namespace gr::aperture::kernels
