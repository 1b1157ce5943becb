/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_HOST_MEMORY_H
#define INCLUDED_APERTURE_RUNTIME_HOST_MEMORY_H

#include "runtime/backend.h"

namespace gr::aperture {

//! Returns the bytes of a page of host memory.
APERTURE_DEVICE_API size_t host_granularity();

/*!
 * Allocates host memory that appears twice in a row, filled with zeros.
 * \param bytes a multiple of host_granularity()
 * \throws std::runtime_error naming the size
 */
APERTURE_DEVICE_API memory map_host_memory_twice(size_t bytes);

//! Allocates host memory, page-aligned and filled with zeros.
APERTURE_DEVICE_API memory allocate_host_memory(size_t bytes);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_HOST_MEMORY_H */
