/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/host_wait.h"
#include <atomic>

namespace gr::aperture {

namespace {

thread_local bool working = false;
thread_local bool meant = false;
std::atomic<long> forbidden{ 0 };

} // namespace

void working_thread::begin() { working = true; }
void working_thread::end() { working = false; }
bool working_thread::must_not_wait() { return working && !meant; }
long working_thread::forbidden_waits() { return forbidden; }

working_thread::allowed_wait::allowed_wait() { meant = true; }
working_thread::allowed_wait::~allowed_wait() { meant = false; }

void working_thread::waits()
{
    if (must_not_wait())
        forbidden++;
}

void host_wait(const event_sptr& e)
{
    if (!e)
        return;
    const working_thread::allowed_wait guard;
    e->synchronize();
}

} // namespace gr::aperture
