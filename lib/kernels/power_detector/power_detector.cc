/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/power_detector/power_detector.h"

namespace gr::aperture::kernels {

void power_detector::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("beams", beams, 1, 65536);
    require_range("spectra_per_frame", spectra_per_frame, 1, 1 << 30);
    require(input == sample_type::sc8 || input == sample_type::fc32,
            "type",
            name_of(input),
            "sc8 or fc32");
    detect.check(channels, beams, spectra_per_frame);
}

} // namespace gr::aperture::kernels
