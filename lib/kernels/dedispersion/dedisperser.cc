/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/dedispersion/dedisperser.h"

namespace gr::aperture::kernels {

void dedisperser::parameters::check() const
{
    band.check();
    trials.check();
    require(std::isfinite(sample_time) && sample_time > 0,
            "sample_time",
            text_of(sample_time),
            "more than 0 s");
    require(tolerance >= 0.5 && tolerance <= 64, // refuses NaN, too
            "tolerance",
            text_of(tolerance),
            "0.5 to 64 samples of a trial");
    for (const double dm : trials.dms)
        require(band.delay(dm, 0) / sample_time < 1 << 28,
                "dms",
                text_of(dm),
                "such that the delay over the band is less than 2^28 items of powers");
    checked_time_bytes();
}

size_t dedisperser::parameters::time_bytes() const
{
    return size_t(trials.beams) * band.channels * size_of(type);
}

int dedisperser::parameters::checked_time_bytes() const
{
    return item_size("item of powers",
                     { { "beams", trials.beams }, { "channels", band.channels } },
                     size_of(type));
}

} // namespace gr::aperture::kernels
