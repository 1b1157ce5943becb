/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_REAL_XENGINE_H
#define INCLUDED_APERTURE_KERNELS_XENGINE_REAL_XENGINE_H

#include "kernels/gpu/gpu_facts.h"
#include "kernels/xengine/xengine.h"
#include <cuda_runtime.h>
#include <memory>

namespace gr::aperture::kernels::cuda {

/*!
 * Adds the products of fc32 voltages to sums [channel][product][re, im] of double
 * precision, always in the same order: the same voltages give the same bits.
 */
class real_xengine
{
public:
    virtual ~real_xengine() = default;
    //! Adds the products of voltages [frame][channel][input][time].
    virtual void
    accumulate(const void* voltages, int frames, double* sums, cudaStream_t) = 0;
};

/*!
 * Makes "fp32": single precision, summed over 32 times. The error of a sum is at most 32
 * 2^-24 = 2e-6 of the sum of the absolute values. Any GPU.
 */
std::unique_ptr<real_xengine> make_fp32_xengine(const xengine::parameters&, gpu_facts);
/*!
 * Makes "tf32": tensor cores, products in three parts of tf32, 8 times summed at once,
 * 128 of these sums in single precision. The error is at most 160 2^-24 = 1e-5 of the sum
 * of the absolute values. Ampere and later.
 */
std::unique_ptr<real_xengine> make_tf32_xengine(const xengine::parameters&, gpu_facts);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_REAL_XENGINE_H */
