/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_REAL_XENGINE_H
#define INCLUDED_APERTURE_KERNELS_CUDA_REAL_XENGINE_H

#include "kernels/xengine.h"
#include <cuda_runtime.h>
#include <memory>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

/*!
 * Adds the products of fc32 voltages to sums [channel][product][re, im]. Products are
 * summed in single precision over 32 times, these sums in double precision, always in the
 * same order. The error of a sum is at most 32 2^-24 = 2e-6 of the sum of the absolute
 * values.
 */
class real_xengine
{
public:
    virtual ~real_xengine() = default;
    //! voltages [block][channel][input][time]
    virtual void
    accumulate(const void* voltages, int blocks, double* sums, cudaStream_t) = 0;
};

std::unique_ptr<real_xengine> make_real_xengine(const xengine::parameters&);

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_REAL_XENGINE_H */
