/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beams/emulated_detecting.h"
#include "kernels/beams/emulated_power_detector.h"
#include "kernels/beams/host_power_detector.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_power_detector : public emulated_detecting<power_detector>
{
public:
    explicit emulated_power_detector(const parameters& p)
        : emulated_detecting(host::make_power_detector(p),
                             size_t(p.channels) * p.beams * p.spectra_per_frame *
                                 size_of(p.input),
                             p.detect.powers(p.channels, p.beams, p.spectra_per_frame))
    {
    }
};

} // namespace

std::unique_ptr<power_detector> make_power_detector(const power_detector::parameters& p)
{
    return std::make_unique<emulated_power_detector>(p);
}

} // namespace gr::aperture::kernels::emulated
