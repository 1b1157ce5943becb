/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_PULSAR_PHASE_H
#define INCLUDED_APERTURE_CONTROL_PULSAR_PHASE_H

#include "signal/folding/phase_model.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/folder.h>
#include <string>
#include <vector>

namespace gr::aperture {

//! Returns the model of segments as blocks take them. \throws std::invalid_argument
kernels::phase_model phase_model_of(const std::vector<folder::segment>& segments);

//! Returns the error about a time at which no segment holds.
std::string no_segment_at(const timestamp& time);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_PULSAR_PHASE_H */
