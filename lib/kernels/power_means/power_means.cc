/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/power_means/power_means.h"
#include <algorithm>

namespace gr::aperture::kernels {

detection power_means::parameters::summed() const
{
    detection d = detect;
    if (d.of_pairs())
        d.products = detection::product_set::coherency;
    d.basis = detection::feeds::linear;
    return d;
}

int power_means::parameters::integrations() const
{
    return std::max(1, detect.integrations(mask.spectra_per_frame));
}

int power_means::parameters::most_frames() const
{
    if (detect.integrations(mask.spectra_per_frame) == 0)
        return 1;
    constexpr size_t bytes = 64 << 20;
    return int(
        std::clamp<size_t>(bytes / (sizeof(float) * integrations() * sums()), 1, 4096));
}

void power_means::parameters::check() const
{
    mask.check();
    detect.check(mask.channels, beams, mask.spectra_per_frame);
    require_range(
        "spectra", detect.spectra, 1, (int64_t(1) << 32) / detect.summed_channels - 1);
}

} // namespace gr::aperture::kernels
