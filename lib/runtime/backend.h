/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_BACKEND_H
#define INCLUDED_APERTURE_RUNTIME_BACKEND_H

#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <string>

namespace gr::aperture {

//! Interface of a device with memory of its own.
class APERTURE_DEVICE_API backend
{
public:
    virtual ~backend() = default;
    //! Returns the name of the GPU, for people.
    virtual std::string description() const = 0;
    virtual std::unique_ptr<stream> make_stream() const = 0;
    //! Makes this device the one that the calling thread uses where it calls CUDA itself.
    virtual void make_current() const {}
    //! Returns the bytes of which memory that is mapped twice is a multiple.
    virtual size_t granularity() const = 0;
    //! Returns the bytes of a ring unless more are asked for.
    virtual size_t default_ring() const = 0;
    //! \throws std::runtime_error saying how much was asked for and how much there is
    virtual memory allocate(size_t bytes) const = 0;
    //! Allocates memory twice in a row; bytes is a multiple of granularity().
    virtual memory allocate_twice_mapped(size_t bytes) const = 0;
    /*!
     * Lets another device of this kind copy out of memory of this one, for as long as the
     * memory lives.
     * \param bytes bytes of the whole allocation, the second mapping included
     * \param mapped whether it is from allocate_twice_mapped()
     * \returns false if the devices cannot access each other's memory
     */
    virtual bool
    share(char* memory, size_t bytes, bool mapped, const backend& other) const = 0;
    //! Makes copies from and to host memory asynchronous while the result lives.
    virtual std::shared_ptr<void> pin(void* host_memory, size_t bytes) const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_BACKEND_H */
