/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_RECORDED_FILES_H
#define INCLUDED_APERTURE_FORMATS_RECORDED_FILES_H

#include <cstdint>
#include <string>
#include <vector>

namespace gr::aperture::formats {

/*!
 * Files that are read at any place. Only a few of them are open at a time, because a
 * recording may consist of thousands.
 *
 * They are read and not mapped: a mapped file that becomes shorter ends the process.
 */
class recorded_files
{
public:
    //! \throws std::runtime_error naming the file that cannot be read, or is not one
    explicit recorded_files(std::vector<std::string> names);
    ~recorded_files();
    recorded_files(const recorded_files&) = delete;
    recorded_files& operator=(const recorded_files&) = delete;

    int count() const { return int(d_names.size()); }
    const std::string& name(int file) const { return d_names[file]; }
    //! Returns the bytes of the files when they were opened first.
    int64_t size(int file) const { return d_sizes[file]; }

    /*!
     * Reads bytes at a place of a file.
     * \returns how many could be read; error() says why not all
     */
    int64_t read(int file, int64_t offset, int64_t bytes, void* out);
    //! Returns the error of the newest read() that fell short.
    const std::string& error() const { return d_error; }

private:
    void close_all();
    int descriptor(int file);

    struct opened {
        int file, descriptor;
    };
    std::vector<std::string> d_names;
    std::vector<int64_t> d_sizes;
    std::vector<opened> d_open; // the most recently used one is last
    std::string d_error;
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_RECORDED_FILES_H */
