/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/detection/emulated_detector.h"
#include "kernels/power_detector/power_detector.h"

namespace gr::aperture::kernels::emulated {

template <>
std::unique_ptr<power_detector> make(const power_detector::parameters& p)
{
    return std::make_unique<emulated_detector<power_detector>>(
        p,
        size_t(p.channels) * p.beams * p.spectra_per_frame * size_of(p.input),
        p.detect.powers(p.channels, p.beams, p.spectra_per_frame));
}

} // namespace gr::aperture::kernels::emulated
