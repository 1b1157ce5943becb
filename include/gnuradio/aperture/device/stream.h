/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DEVICE_STREAM_H
#define INCLUDED_APERTURE_DEVICE_STREAM_H

#include <gnuradio/aperture/device/api.h>
#include <cstddef>
#include <memory>

namespace gr::aperture {

//! A point in a stream's order of work.
class APERTURE_DEVICE_API event
{
public:
    virtual ~event() = default;
    //! Whether all work before it is done. Does not wait.
    virtual bool done() const = 0;
    /*!
     * The calling thread waits until it is done.
     * \throws std::runtime_error if the device failed
     */
    virtual void synchronize() const = 0;
};

using event_sptr = std::shared_ptr<const event>;

enum class direction { host_to_device, device_to_host, within_device };

/*!
 * An order of work: what is given to a stream is done one after the other. A kernel gives
 * its work to a stream and returns; on the CPU it is done by then.
 *
 * All but synchronize() return at once; all throw std::runtime_error if the device
 * failed, which may be because of work that was given to it earlier.
 */
class APERTURE_DEVICE_API stream
{
public:
    virtual ~stream() = default;
    //! Waits until all that was given to the stream is done.
    virtual void synchronize() = 0;
    //! The point behind all work so far.
    virtual event_sptr record() = 0;
    //! Work from here on begins after an event of any stream; nullptr: no wait.
    virtual void wait(const event_sptr& e) = 0;
    //! Host memory must stay as it is until the copy is done.
    virtual void copy(void* to, const void* from, size_t bytes, direction d) = 0;
    //! Sets memory of the device to zero.
    virtual void clear(void* memory, size_t bytes) = 0;
    /*!
     * For work that a library gives to a stream of its own, of the same device:
     * follow_native(): work from here on begins after what that stream was given so far;
     * lead_native(): what that stream is given from here on begins after work so far.
     * \param other its cudaStream_t
     * \throws std::logic_error where streams have no native_handle()
     */
    virtual void follow_native(void* other);
    virtual void lead_native(void* other);
    //! cudaStream_t of a stream on a GPU, to be asked for whenever work is given to it by
    //! itself: record() takes note.
    virtual void* native_handle() { return nullptr; }
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEVICE_STREAM_H */
