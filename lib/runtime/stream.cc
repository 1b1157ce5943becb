/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <gnuradio/aperture/device/stream.h>
#include <stdexcept>

namespace gr::aperture {

void stream::follow_native(void*)
{
    throw std::logic_error("this stream is not on a GPU and has no native handle");
}

void stream::lead_native(void* other) { stream::follow_native(other); }

} // namespace gr::aperture
