/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_CUDA_H
#define INCLUDED_APERTURE_RUNTIME_CUDA_H

#include "runtime/backend.h"
#include <string>

namespace gr::aperture::cuda {

//! What there is to run on.
struct gpus {
    int count;           //!< that can be used
    std::string problem; //!< why there is none, or what is wrong with the driver
};

/*!
 * Looks for GPUs. A machine without a driver, or with one that is older than what this
 * build was made with, is no error: count is 0, and problem says so.
 */
gpus find_gpus();

//! \param index of the GPU, below find_gpus().count
std::shared_ptr<const backend> make_backend(int index);

} // namespace gr::aperture::cuda

#endif /* INCLUDED_APERTURE_RUNTIME_CUDA_H */
