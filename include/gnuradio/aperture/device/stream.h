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
    //! Returns whether all work before it is done. Does not wait.
    virtual bool done() const = 0;
    /*!
     * Waits, in the calling thread, until the work is done.
     * \throws std::runtime_error if the device failed
     */
    virtual void synchronize() const = 0;
};

using event_sptr = std::shared_ptr<const event>;

enum class direction { host_to_device, device_to_host, within_device };

/*!
 * A queue of work, which is done in order. A kernel gives its work to a stream and
 * returns; on the CPU the work is done by then.
 *
 * All but synchronize() return at once; all throw std::runtime_error if the device
 * failed, which may be because of work that was given to it earlier.
 */
class APERTURE_DEVICE_API stream
{
public:
    virtual ~stream() = default;
    //! Waits until all work that was given to the stream is done.
    virtual void synchronize() = 0;
    //! Returns the point behind all work so far.
    virtual event_sptr record() = 0;
    //! Makes later work begin after an event of any stream; nullptr: no wait.
    virtual void wait(const event_sptr& e) = 0;
    //! Copies; host memory must stay as it is until the copy is done.
    virtual void copy(void* to, const void* from, size_t bytes, direction d) = 0;
    //! Sets memory of the device to zero.
    virtual void clear(void* memory, size_t bytes) = 0;
    /*!
     * Orders this stream and one that a library uses on the same device. After
     * follow_native(), later work of this stream begins after the other's work so far;
     * after lead_native(), later work of the other begins after this one's work so far.
     * \param other cudaStream_t of the library
     * \throws std::logic_error where streams have no native_handle()
     */
    virtual void follow_native(void* other);
    virtual void lead_native(void* other);
    //! Returns the cudaStream_t of a stream on a GPU. Ask for it each time that work is
    //! given to it directly: record() takes note.
    virtual void* native_handle() { return nullptr; }
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEVICE_STREAM_H */
