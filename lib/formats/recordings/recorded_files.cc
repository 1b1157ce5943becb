/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/recorded_files.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

constexpr size_t most_open = 64;

int open_to_read(const std::string& name)
{
    // a FIFO would wait for its writer
    return open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

[[noreturn]] void refuse(const std::string& name, const std::string& reason)
{
    throw std::runtime_error(name + ": cannot be read: " + reason);
}

} // namespace

recorded_files::recorded_files(std::vector<std::string> names)
    : d_names(std::move(names)), d_sizes(d_names.size())
{
    for (int file = 0; file < count(); file++) {
        struct stat about {
        };
        const int d = open_to_read(name(file));
        const bool failed = d < 0 || fstat(d, &about) < 0;
        const std::string reason = failed ? std::strerror(errno) : "";
        if (d >= 0)
            close(d);
        if (failed)
            refuse(name(file), reason);
        if (!S_ISREG(about.st_mode))
            refuse(name(file),
                   S_ISDIR(about.st_mode) ? "it is a folder" : "it is not a file");
        d_sizes[file] = about.st_size;
    }
}

recorded_files::~recorded_files() { close_all(); }

void recorded_files::close_all()
{
    for (const auto& o : d_open)
        close(o.descriptor);
    d_open.clear();
}

int recorded_files::descriptor(int file)
{
    const auto found = std::find_if(
        d_open.begin(), d_open.end(), [&](const opened& o) { return o.file == file; });
    if (found != d_open.end()) {
        std::rotate(found, found + 1, d_open.end());
        return d_open.back().descriptor;
    }
    const int d = open_to_read(name(file));
    if (d < 0)
        return d;
    posix_fadvise(d, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (d_open.size() == most_open) {
        close(d_open.front().descriptor);
        d_open.erase(d_open.begin());
    }
    d_open.push_back({ file, d });
    return d;
}

int64_t recorded_files::read(int file, int64_t offset, int64_t bytes, void* out)
{
    const int d = descriptor(file);
    int64_t done = 0;
    while (done < bytes) {
        const ssize_t got = d < 0 ? -1
                                  : pread(d,
                                          static_cast<char*>(out) + done,
                                          size_t(bytes - done),
                                          off_t(offset + done));
        if (got < 0 && d >= 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            d_error = name(file) + ": cannot be read at byte " +
                      std::to_string(offset + done) + ": " +
                      (got < 0 ? std::strerror(errno) : "the file became shorter");
            break;
        }
        done += got;
    }
    return done;
}

} // namespace gr::aperture::formats
