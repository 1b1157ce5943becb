/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DEVICE_H
#define INCLUDED_APERTURE_DEVICE_H

#include <gnuradio/aperture/api.h>
#include <string>
#include <vector>

namespace gr::aperture {

/*!
 * The devices that blocks can run on in this build and on this machine, by the names that
 * every block's `device` parameter takes: "cpu", and "cuda:N" for each usable GPU.
 */
APERTURE_API std::vector<std::string> devices();

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEVICE_H */
