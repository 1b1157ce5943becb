/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_FLAGGING_CUDA_FLAGGING_H
#define INCLUDED_APERTURE_KERNELS_FLAGGING_CUDA_FLAGGING_H

#include "kernels/flagging/flagging.h"

namespace gr::aperture::kernels::cuda {

std::unique_ptr<flagging> make_flagging(const flagging::parameters& p, int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_FLAGGING_CUDA_FLAGGING_H */
