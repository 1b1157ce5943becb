/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/delay.h"
#include <cmath>

namespace gr::aperture::kernels {

namespace {
constexpr double two_pi = 6.283185307179586476925;
}

phase_slope phase_slope_of(const delay& d, int channels, bool real, bool inverted)
{
    const int half = channels / 2, length = real ? 2 * channels : channels;
    // Channel n/2 shall rotate by the phase alone, but it lies at frequency 0 for complex
    // samples only: for real ones the shift has rotated it, and in a mirrored band, where
    // it comes from the channel below, the other way round.
    const int of_shift = !real ? 0 : inverted ? -(half - 1) : half;
    const double back = double(d.samples % length) * of_shift / length;
    phase_slope s;
    s.slope0 = -d.fraction / length;
    s.slope_rate = -d.fraction_rate / length;
    s.start0 = d.phase / two_pi + back - half * s.slope0;
    s.start_rate = d.phase_rate / two_pi - half * s.slope_rate;
    s.start0 -= std::floor(s.start0);
    return s;
}

} // namespace gr::aperture::kernels
