/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_PLUGIN_H
#define INCLUDED_APERTURE_RUNTIME_PLUGIN_H

#include <gnuradio/aperture/device/api.h>
#include <string>

namespace gr::aperture {

/*!
 * A kind of library that is loaded when it is asked for, as for GPUs: nothing links to
 * CUDA, and a package without it installs where there is no CUDA. Such a library exports
 * one function, which returns a struct of functions. Its first member is the version, as
 * text, in every version of it.
 */
struct plugin_kind {
    const char* file;    //!< name of the file
    const char* entry;   //!< name of the function, a plugin_entry
    const char* what;    //!< "CUDA kernels", in messages
    const char* version; //!< version that it must have
};
using plugin_entry = const void* (*)();

//! A library that has been loaded, or the reason why it has not been.
struct loaded_plugin {
    const void* offers; //!< nullptr if it has not been loaded
    std::string problem;
};

//! Loads a library, which stays loaded. \param path path of the file
APERTURE_DEVICE_API loaded_plugin load_plugin(const plugin_kind& kind,
                                              const std::string& path);

/*!
 * Finds the library of a kind that lies beside the one that this code is part of.
 * \param linked the function, in programs that link the library's objects themselves and
 * need no file: tests and benchmarks; otherwise nullptr
 */
APERTURE_DEVICE_API loaded_plugin find_plugin(const plugin_kind& kind,
                                              plugin_entry linked);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_PLUGIN_H */
