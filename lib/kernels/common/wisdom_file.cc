/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/wisdom_file.h"
#include "system/linux.h"
#include <fftw3.h>
#include <system_error>
#include <unistd.h>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace gr::aperture::kernels::host {

namespace {

namespace fs = std::filesystem;

//! Largest file that is read: a computer's wisdom has some ten kilobytes.
constexpr std::streamoff most_bytes = 8 << 20;

std::string folder()
{
    // the XDG base directory specification: relative paths are to be ignored
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache && *cache == '/')
        return cache;
    const char* home = std::getenv("HOME");
    return home && *home == '/' ? std::string(home) + "/.cache" : "";
}

//! Returns letters, digits and points of a text, and a hyphen for all between them.
std::string as_file_name(const std::string& text)
{
    std::string name;
    for (const unsigned char c : text) {
        if (std::isalnum(c) || c == '.')
            name += char(c);
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    return name;
}

} // namespace

wisdom_file wisdom_file::of_this_computer()
{
    const std::string in = folder();
    if (in.empty())
        return wisdom_file("");
    return wisdom_file(in + "/gr-aperture/" +
                       as_file_name(fftwf_version + (" on " + system::processor_name())) +
                       ".wisdom");
}

bool wisdom_file::load() const
{
    std::error_code error;
    if (d_path.empty() ||
        !fs::is_regular_file(d_path, error)) // a special file could block
        return false;
    std::ifstream file(d_path, std::ios::binary);
    std::string text;
    for (char part[4096]; file && std::streamoff(text.size()) <= most_bytes;) {
        file.read(part, sizeof part);
        text.append(part, size_t(file.gcount()));
    }
    // FFTW takes all of it or nothing
    return std::streamoff(text.size()) <= most_bytes && !text.empty() &&
           fftwf_import_wisdom_from_string(text.c_str());
}

bool wisdom_file::save() const
{
    if (d_path.empty())
        return false;
    load(); // otherwise plans that another process has added would be lost
    const std::unique_ptr<char, decltype(&std::free)> text(
        fftwf_export_wisdom_to_string(), &std::free);
    if (!text)
        return false;
    std::error_code error;
    fs::create_directories(fs::path(d_path).parent_path(), error);
    std::string name = d_path + ".XXXXXX";
    const int file = mkstemp(name.data());
    if (file < 0)
        return false;
    const std::string all = text.get();
    const bool written = write(file, all.data(), all.size()) == ssize_t(all.size());
    if (close(file) == 0 && written)
        fs::rename(name, d_path, error);
    else
        error = std::make_error_code(std::errc::io_error);
    if (error) {
        std::error_code ignored;
        fs::remove(name, ignored);
    }
    return !error;
}

} // namespace gr::aperture::kernels::host
