/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_WISDOM_FILE_H
#define INCLUDED_APERTURE_KERNELS_COMMON_WISDOM_FILE_H

#include <string>

namespace gr::aperture::kernels::host {

/*!
 * A file in which FFTW's wisdom, the plans that it has measured, is kept for later
 * processes. It is no more than a cache: where it cannot be read or written, or is
 * damaged, plans are measured again, and nothing else happens.
 *
 * FFTW has no lock for its wisdom: these are to be called from one thread at a time.
 */
class wisdom_file
{
public:
    //! \param path empty: there is none
    explicit wisdom_file(std::string path) : d_path(std::move(path)) {}

    /*!
     * Returns a file in the folder gr-aperture of $XDG_CACHE_HOME or ~/.cache, one for
     * each version of FFTW and each model of processor: a home may be shared by several
     * computers, and a plan that is fast on one is slow on another.
     */
    static wisdom_file of_this_computer();

    //! Adds the file's plans to those that FFTW knows. Returns false if none was added.
    bool load() const;

    //! Writes all plans that FFTW knows to the file, beside those that other processes
    //! have written meanwhile. A reader finds the file before or the file after, never a
    //! part.
    bool save() const;

    const std::string& path() const { return d_path; }

private:
    std::string d_path;
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_WISDOM_FILE_H */
