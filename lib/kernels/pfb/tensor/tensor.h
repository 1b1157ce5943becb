/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TENSOR_H
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TENSOR_H

#include "kernels/f_engine/f_engine.h"

namespace gr::aperture::kernels::cuda {

/*!
 * Returns a filter bank whose transform is multiplied by tensor cores in half precision:
 * 64 to 8192 channels (powers of two) from sc8 and sc4, 64 to 1024 from s8, to sc8; up to
 * 8 taps (sc8: 16) and 1024 inputs, on Hopper GPUs. At an rms of 20 steps 0.5 % of the
 * output components differ by one step from those of single precision, and in proportion
 * to the rms elsewhere. What it cannot do it leaves to `other`: all calls of other
 * parameters, and calls with addresses that are not multiples of 16 bytes.
 */
std::unique_ptr<pfb>
make_tensor_pfb(const pfb::parameters& p, int device, std::unique_ptr<pfb> other);

//! Likewise an F-engine, which stores the same bits as frames.
std::unique_ptr<f_engine> make_tensor_f_engine(const f_engine::parameters& p,
                                               int device,
                                               std::unique_ptr<f_engine> other);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TENSOR_H */
