/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_FAULT_H
#define INCLUDED_APERTURE_RUNTIME_FAULT_H

namespace gr::aperture {

#ifdef APERTURE_FAULTS
/*!
 * Whether a wait or a copy is to be left out: the environment variable APERTURE_FAULT has
 * its name. Only in builds with the CMake option APERTURE_FAULTS, which exist so that a
 * test can show that the other tests would notice.
 */
bool left_out(const char* name);
#else
constexpr bool left_out(const char*) { return false; }
#endif

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_FAULT_H */
