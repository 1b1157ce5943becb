/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beamformer.h"

namespace gr::aperture::kernels {

void beamformer::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("inputs", inputs, 1, 65536);
    require_range("beams", beams, 1, 4096);
    require_range("spectra_per_frame", spectra_per_frame, 1, 1 << 30);
    require(input == sample_type::sc8 || input == sample_type::sc4 ||
                input == sample_type::fc32,
            "type",
            name_of(input),
            "sc8, sc4 or fc32");
    require(output == sample_type::fc32 || output == sample_type::sc8,
            "output_type",
            name_of(output),
            "fc32 or sc8");
}

} // namespace gr::aperture::kernels
