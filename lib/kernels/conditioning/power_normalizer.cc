/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/conditioning/power_normalizer.h"
#include <limits>

namespace gr::aperture::kernels {

namespace {

void require_threshold(const char* name, float value)
{
    require(value >= 0 && value <= std::numeric_limits<float>::max(),
            name,
            text_of(value),
            "0 (none) or positive, in units of the rms");
}

} // namespace

void power_normalizer::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("beams", beams, 1, 65536);
    require_range("segment", segment, 8, 1 << 20);
    require_range("segments", segments, 4, 64);
    require(steps > 0 && steps <= 64, "steps", text_of(steps), "above 0, and at most 64");
    require_threshold("cell_threshold", cell_threshold);
    require_threshold("channel_threshold", channel_threshold);
    require_threshold("spectrum_threshold", spectrum_threshold);
    for (const int bad : bad_channels)
        require_range("bad_channels", bad, 0, channels - 1);
}

} // namespace gr::aperture::kernels
