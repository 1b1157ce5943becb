/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_CUDA_H
#define INCLUDED_APERTURE_RUNTIME_CUDA_H

#include "runtime/cuda_library.h"

namespace gr::aperture::cuda {

// What struct library says of them.
gpus find_gpus();
std::shared_ptr<const backend> make_backend(int index);

} // namespace gr::aperture::cuda

#endif /* INCLUDED_APERTURE_RUNTIME_CUDA_H */
