/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_CUDA_LIBRARY_H
#define INCLUDED_APERTURE_RUNTIME_CUDA_LIBRARY_H

#include "runtime/backend.h"
#include <memory>
#include <string>

/*
 * CUDA's kernels, its runtime and cuFFT are a library of their own, which is loaded when
 * a GPU is asked for: the library of the blocks links to none of them, and a package of
 * it installs where there is no CUDA.
 */

namespace gr::aperture::kernels {
struct cuda_kernels; // kernels/common/cuda_kernels.h
}

namespace gr::aperture::cuda {

//! The GPUs of this machine.
struct gpus {
    int count;           //!< how many can be used
    std::string problem; //!< why there is none, or what is wrong with the driver
};

//! What the library of CUDA kernels offers. The version comes first in every version of
//! it.
struct library {
    const char* version; //!< that of the library which it belongs to
    /*!
     * Looks for GPUs. A machine without a driver, or with one that is older than what
     * this build was made with, is no error: count is 0, and problem says so.
     */
    gpus (*find_gpus)();
    //! \param index of the GPU, below find_gpus().count
    std::shared_ptr<const backend> (*make_backend)(int index);
    const kernels::cuda_kernels* kernels;
};

//! A library that has been loaded, or why it has not been.
struct loaded_library {
    const library* offers; //!< nullptr if it has not been loaded
    std::string problem;
};

//! The file's name, and the name of the one function that it exports, a library_entry.
constexpr const char* library_name = "libgnuradio-aperture-cuda.so";
constexpr const char* library_entry_name = "gnuradio_aperture_cuda";
using library_entry = const library* (*)();

//! The version that the library must have: the project's, and a digest of the interface.
const char* wanted_library_version();

//! Loads a library, which stays loaded. \param path of the file
loaded_library load_library(const std::string& path);

/*!
 * The library of CUDA kernels, loaded by the first call: the file that lies beside the
 * library of the blocks. Programs that link the kernels themselves need no file.
 */
const loaded_library& the_library();

} // namespace gr::aperture::cuda

#endif /* INCLUDED_APERTURE_RUNTIME_CUDA_LIBRARY_H */
