/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_HOST_WAIT_H
#define INCLUDED_APERTURE_RUNTIME_HOST_WAIT_H

#include "runtime/stream.h"

namespace gr::aperture {

/*!
 * Where a thread may wait for a device. Between a device block's start() and stop(), its
 * thread must not, but for the three waits of host_wait(): a backend counts others.
 */
class working_thread
{
public:
    static void begin();
    static void end();
    //! Between begin() and end(), and not in one of the waits that are meant to be.
    static bool must_not_wait();
    //! Waits of threads that must not, since the program began.
    static long forbidden_waits();
    //! A backend says that the thread is about to wait.
    static void waits();
    //! In its life the calling thread waits as it is meant to.
    class meant_wait
    {
    public:
        meant_wait();
        ~meant_wait();
        meant_wait(const meant_wait&) = delete;
        meant_wait& operator=(const meant_wait&) = delete;
    };
};

//! One of the waits that are meant to be; nullptr: no wait.
void host_wait(const event_sptr& e);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_HOST_WAIT_H */
