/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_F_ENGINE_CUDA_F_ENGINE_H
#define INCLUDED_APERTURE_KERNELS_F_ENGINE_CUDA_F_ENGINE_H

#include "kernels/f_engine/f_engine.h"

namespace gr::aperture::kernels::cuda {

//! One kernel for all; nullptr for parameters that it does not serve.
std::unique_ptr<f_engine> make_f_engine(const f_engine::parameters& p, int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_F_ENGINE_CUDA_F_ENGINE_H */
