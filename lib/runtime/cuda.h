/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_CUDA_H
#define INCLUDED_APERTURE_RUNTIME_CUDA_H

#include "runtime/backend.h"
#include "runtime/plugin.h"
#include <memory>
#include <string>

namespace gr::aperture::cuda {

//! The GPUs of this machine.
struct gpus {
    int count;           //!< number of usable GPUs
    std::string problem; //!< reason why there is none, or the driver's problem
};

//! Functions of the library of CUDA's memory, streams and events: gpu_runtime_kind.
struct gpu_runtime {
    const char* version;
    /*!
     * Looks for GPUs. A machine without a driver, or with one that is older than what
     * this build was made with, is no error: count is 0, and problem says so.
     */
    gpus (*find_gpus)();
    //! \param index of the GPU, below find_gpus().count
    std::shared_ptr<const backend> (*make_backend)(int index);
};

extern const plugin_kind gpu_runtime_kind;

//! Returns the library's functions, loading it once; nullptr if there is none.
const gpu_runtime* the_gpu_runtime();
//! Returns the GPUs that blocks can run on. Loads the library.
const gpus& find_gpus();

} // namespace gr::aperture::cuda

#endif /* INCLUDED_APERTURE_RUNTIME_CUDA_H */
