/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_FREE_MEMORY_H
#define INCLUDED_APERTURE_STREAM_FREE_MEMORY_H

#include <gnuradio/aperture/device/device.h>
#include <cstddef>
#include <string>

namespace gr::aperture {

//! Returns the bytes of host memory that this process may still take: of the machine, and
//! of the control groups that it is in.
size_t free_host_memory();

/*!
 * Refuses what a kernel is about to take on the host and is not there: Linux grants more
 * than it has, and std::bad_alloc names no size. A GPU says itself how much it has.
 * \param what in the plural: "sums of ..."
 * \throws std::runtime_error saying what needs how much, and how much there is
 */
void require_host_memory(const device& d, const std::string& what, double bytes);

/*!
 * Allocates host memory, page-aligned, all of which is really there: Linux grants more
 * than it has, and ends the process that uses it.
 * \throws std::runtime_error saying how much was asked
 * for and how much there is
 */
memory allocate_used_host_memory(size_t bytes);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_FREE_MEMORY_H */
