/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_RECORDED_FILES_H
#define INCLUDED_APERTURE_FORMATS_RECORDED_FILES_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
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

    int count() const { return int(d_names.size()); }
    const std::string& name(int file) const { return d_names[file]; }
    //! Returns the bytes of the files when they were opened first.
    int64_t size(int file) const { return d_sizes[file]; }

    /*!
     * Reads bytes at a place of a file. Any number of threads may do so at a time.
     * \param error says why not all could be read; it stays as it is if they could
     * \returns how many could be read
     */
    int64_t
    read(int file, int64_t offset, int64_t bytes, void* out, std::string& error) const;

    //! Returns whether any read() has had to wait for a disk: what it wanted was not in
    //! memory.
    bool waited() const { return d_waited; }
    //! Lets the system begin to read what will be wanted next, and does not wait for it.
    void read_ahead(int file, int64_t offset, int64_t bytes) const;

private:
    class descriptor;
    // Returns the descriptor of a file, which stays open for as long as it is held.
    std::shared_ptr<const descriptor> opened(int file) const;

    std::vector<std::string> d_names;
    std::vector<int64_t> d_sizes;
    mutable std::atomic<bool> d_waited{ false };
    mutable std::mutex d_mutex;
    // The most recently used one is last.
    mutable std::vector<std::shared_ptr<const descriptor>> d_open;
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_RECORDED_FILES_H */
