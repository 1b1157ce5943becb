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
 * Returns whether a wait or a copy is to be left out: the environment variable
 * APERTURE_FAULT has its name. It is true only in programs that show that the tests would
 * notice (aperture_faults in tests/cpp/CMakeLists.txt).
 */
bool left_out(const char* name);
#else
constexpr bool left_out(const char*) { return false; }
#endif

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_FAULT_H */
