/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/host_stream.h"
#include <cstring>

namespace gr::aperture {

void host_stream::copy(void* to, const void* from, size_t bytes, direction)
{
    std::memcpy(to, from, bytes);
}

void host_stream::clear(void* memory, size_t bytes) { std::memset(memory, 0, bytes); }

} // namespace gr::aperture
