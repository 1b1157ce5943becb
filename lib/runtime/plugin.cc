/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/plugin.h"
#include <dlfcn.h>
#include <cstring>
#include <filesystem>

namespace gr::aperture {

namespace {

loaded_plugin
checked(const plugin_kind& kind, const void* offers, const std::string& path)
{
    const char* const version = *static_cast<const char* const*>(offers);
    if (std::strcmp(version, kind.version) == 0)
        return { offers, "" };
    return { nullptr,
             path + " has version " + version + ", but this library needs " +
                 kind.version + ": install both from the same build" };
}

//! Returns the folder of the library, or of the program, that this code is part of.
std::filesystem::path own_folder()
{
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(&load_plugin), &info) || !info.dli_fname)
        return {};
    std::error_code error;
    const auto file = std::filesystem::canonical(info.dli_fname, error);
    return (error ? std::filesystem::path(info.dli_fname) : file).parent_path();
}

} // namespace

loaded_plugin load_plugin(const plugin_kind& kind, const std::string& path)
{
    const std::string what = kind.what;
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return { nullptr, "there are no " + what + " here (no " + path + ")" };
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return { nullptr, "the " + what + " cannot be loaded: " + dlerror() };
    const auto entry = reinterpret_cast<plugin_entry>(dlsym(handle, kind.entry));
    if (!entry)
        return { nullptr, path + " is no library of " + what };
    return checked(kind, entry(), path);
}

loaded_plugin find_plugin(const plugin_kind& kind, plugin_entry linked)
{
    return linked ? checked(kind, linked(), "this program")
                  : load_plugin(kind, own_folder() / kind.file);
}

} // namespace gr::aperture
