/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/recorded_files.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
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

class recorded_files::descriptor
{
public:
    descriptor(int file, const std::string& name)
        : d_file(file), d_number(open_to_read(name)), d_error(d_number < 0 ? errno : 0)
    {
        if (d_number >= 0)
            posix_fadvise(d_number, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    ~descriptor()
    {
        if (d_number >= 0)
            close(d_number);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;

    int file() const { return d_file; }
    bool is_open() const { return d_number >= 0; }
    /*!
     * Reads as pread() does, and returns its error below zero. Sets `waited` if the bytes
     * are not in memory.
     */
    ssize_t read(void* out, size_t bytes, off_t offset, std::atomic<bool>& waited) const
    {
        if (d_number < 0)
            return -d_error;
        if (d_can_wait) {
            const iovec to{ out, bytes };
            const ssize_t there = preadv2(d_number, &to, 1, offset, RWF_NOWAIT);
            if (there > 0)
                return there;
            if (there < 0 && errno == EAGAIN)
                waited = true;
            else if (there < 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
                d_can_wait = false; // files in memory cannot, nor can old systems say it
        }
        for (;;) {
            const ssize_t got = pread(d_number, out, bytes, offset);
            if (got >= 0 || errno != EINTR)
                return got < 0 ? -errno : got;
        }
    }
    void read_ahead(off_t offset, off_t bytes) const
    {
        if (d_number >= 0)
            posix_fadvise(d_number, offset, bytes, POSIX_FADV_WILLNEED);
    }

private:
    const int d_file, d_number, d_error;
    //! True as long as the file system says whether a read would wait.
    mutable std::atomic<bool> d_can_wait{ true };
};

std::shared_ptr<const recorded_files::descriptor> recorded_files::opened(int file) const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    const auto found = std::find_if(
        d_open.begin(), d_open.end(), [&](const auto& d) { return d->file() == file; });
    if (found != d_open.end()) {
        std::rotate(found, found + 1, d_open.end());
        return d_open.back();
    }
    const auto made = std::make_shared<const descriptor>(file, name(file));
    if (!made->is_open())
        return made;
    if (d_open.size() == most_open)
        d_open.erase(d_open.begin());
    d_open.push_back(made);
    return made;
}

int64_t recorded_files::read(
    int file, int64_t offset, int64_t bytes, void* out, std::string& error) const
{
    const auto from = opened(file);
    int64_t done = 0;
    while (done < bytes) {
        const ssize_t got = from->read(static_cast<char*>(out) + done,
                                       size_t(bytes - done),
                                       off_t(offset + done),
                                       d_waited);
        if (got <= 0) {
            error = name(file) + ": cannot be read at byte " +
                    std::to_string(offset + done) + ": " +
                    (got < 0 ? std::strerror(int(-got)) : "the file became shorter");
            break;
        }
        done += got;
    }
    return done;
}

void recorded_files::read_ahead(int file, int64_t offset, int64_t bytes) const
{
    opened(file)->read_ahead(off_t(offset), off_t(bytes));
}

} // namespace gr::aperture::formats
