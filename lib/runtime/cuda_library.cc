/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/cuda_library.h"
#include <dlfcn.h>
#include <cstring>
#include <filesystem>

//! Defined in programs that link the CUDA kernels themselves: tests and benchmarks.
extern "C" __attribute__((weak)) const gr::aperture::cuda::library*
gnuradio_aperture_cuda();

namespace gr::aperture::cuda {

namespace {

loaded_library checked(const library* offers, const std::string& path)
{
    if (std::strcmp(offers->version, wanted_library_version()) == 0)
        return { offers, "" };
    return { nullptr,
             path + " has version " + offers->version + ", but this library needs " +
                 wanted_library_version() + ": install both from the same build" };
}

//! The folder of the library, or of the program, that this code is part of.
std::filesystem::path own_folder()
{
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(&load_library), &info) || !info.dli_fname)
        return {};
    std::error_code error;
    const auto file = std::filesystem::canonical(info.dli_fname, error);
    return (error ? std::filesystem::path(info.dli_fname) : file).parent_path();
}

} // namespace

const char* wanted_library_version() { return APERTURE_CUDA_LIBRARY_VERSION; }

loaded_library load_library(const std::string& path)
{
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return { nullptr, "there are no CUDA kernels here (no " + path + ")" };
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return { nullptr,
                 std::string("the CUDA kernels cannot be loaded: ") + dlerror() };
    const auto entry = reinterpret_cast<library_entry>(dlsym(handle, library_entry_name));
    if (!entry)
        return { nullptr, path + " is no library of CUDA kernels" };
    return checked(entry(), path);
}

const loaded_library& the_library()
{
    static const loaded_library loaded =
        gnuradio_aperture_cuda ? checked(gnuradio_aperture_cuda(), "this program")
                               : load_library(own_folder() / library_name);
    return loaded;
}

} // namespace gr::aperture::cuda
