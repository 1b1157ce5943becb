/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_HOST_WAIT_H
#define INCLUDED_APERTURE_RUNTIME_HOST_WAIT_H

#include <gnuradio/aperture/device/stream.h>

namespace gr::aperture {

/*!
 * Tells whether a thread may wait for a device. The thread of a device block must not
 * wait between start() and stop(), except for the three kinds of waits that use
 * host_wait(). A backend counts all others.
 */
class APERTURE_DEVICE_API working_thread
{
public:
    static void begin();
    static void end();
    //! Returns whether the thread is between begin() and end(), and in no allowed wait.
    static bool must_not_wait();
    //! Returns how often threads have waited that must not, since the program began.
    static long forbidden_waits();
    //! Tells, from a backend, that the calling thread is about to wait.
    static void waits();
    //! Allows the calling thread to wait while one of these lives.
    class APERTURE_DEVICE_API allowed_wait
    {
    public:
        allowed_wait();
        ~allowed_wait();
        allowed_wait(const allowed_wait&) = delete;
        allowed_wait& operator=(const allowed_wait&) = delete;
    };
};

//! Waits for an event, which is allowed; nullptr: does not wait.
APERTURE_DEVICE_API void host_wait(const event_sptr& e);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_HOST_WAIT_H */
