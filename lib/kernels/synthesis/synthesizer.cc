/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/synthesis/synthesizer.h"

namespace gr::aperture::kernels {

void synthesizer::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 17);
    require_range("beams", beams, 1, 16384);
    require_range("spectra_per_frame", spectra_per_frame, 1, 1 << 30);
    require_range("points", points, channels, 1 << 18);
    require_range("hop", hop, 1, points);
    require(!prototype.empty() && prototype.size() < size_t(1) << 26,
            "prototype",
            std::to_string(prototype.size()) + " coefficients",
            "1 to 2^26 - 1");
    require_range("most_spectra", most_spectra, 1, spectra_per_frame);
    require(input == sample_type::fc32 || input == sample_type::sc8,
            "type",
            name_of(input),
            "fc32 or sc8");
    require(filter.taps % 16 == 0 &&
                filter.rows.size() == size_t(fractional_filter::phases + 1) *
                                          filter.taps * (filter.taps > 0),
            "filter",
            std::to_string(filter.taps) + " taps",
            "a multiple of 16 of them, in 257 rows");
}

} // namespace gr::aperture::kernels
