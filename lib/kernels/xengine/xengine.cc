/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/xengine/xengine.h"

namespace gr::aperture::kernels {

void xengine::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("inputs", inputs, 1, 65536);
    require_range("spectra_per_frame", spectra_per_frame, 1, 1 << 30);
    require(type == sample_type::sc8 || type == sample_type::sc4 ||
                type == sample_type::fc32,
            "type",
            name_of(type),
            "sc8, sc4 or fc32");
}

} // namespace gr::aperture::kernels
