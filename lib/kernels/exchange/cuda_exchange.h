/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_EXCHANGE_CUDA_EXCHANGE_H
#define INCLUDED_APERTURE_KERNELS_EXCHANGE_CUDA_EXCHANGE_H

#include "kernels/exchange/exchange.h"

namespace gr::aperture::kernels::cuda {

/*!
 * By copies between the GPUs, which take no multiprocessors, or by NCCL's sends and
 * receives. Automatically: by copies where all GPUs reach each other's memory, otherwise
 * by NCCL.
 */
std::unique_ptr<exchange> make_exchange(const exchange::parameters& p, int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_EXCHANGE_CUDA_EXCHANGE_H */
