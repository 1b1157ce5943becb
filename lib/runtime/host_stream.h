/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_HOST_STREAM_H
#define INCLUDED_APERTURE_RUNTIME_HOST_STREAM_H

#include <gnuradio/aperture/device/stream.h>

namespace gr::aperture {

//! The stream of the CPU: the thread that gives the work does it.
class APERTURE_DEVICE_API host_stream : public stream
{
public:
    void synchronize() override {}
    event_sptr record() override { return nullptr; }
    void wait(const event_sptr&) override {}
    void copy(void* to, const void* from, size_t bytes, direction d) override;
    void clear(void* memory, size_t bytes) override;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_HOST_STREAM_H */
