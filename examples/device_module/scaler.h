/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_SCALER_H
#define INCLUDED_SCALER_H

#include <gnuradio/block.h>
#include <string>

//! Multiplies fc32 samples by a factor, on any device.
gr::block_sptr make_scaler(float factor, const std::string& device);

#endif /* INCLUDED_SCALER_H */
