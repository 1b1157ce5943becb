/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/pfb.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels {

void pfb::parameters::check() const
{
    if (is_complex(input))
        require_range("channels", channels, 2, 65536);
    else
        check_channels(channels);
    require_range("taps", taps, 1, 64);
    require_range("ports", ports, 1, 65536);
    // an upchanneliser has an input of the kernel for each channel of an input
    require_range("inputs_per_port", inputs_per_port, 1, 1 << 24);
    require_range("first_kept", first_kept, 0, channels - kept_channels());
    require(output == sample_type::fc32 || output == sample_type::sc8,
            "output_type",
            name_of(output),
            "fc32 or sc8");
    const size_t numbers = size_t(taps) * length();
    require(prototype.size() == numbers,
            "prototype",
            std::to_string(prototype.size()) + " numbers",
            std::to_string(taps) + " taps x " + std::to_string(length()) +
                " samples = " + std::to_string(numbers) + " numbers");
    require_range("hop", hop(), 1, length());
    bool all_finite = true;
    for (float h : prototype)
        all_finite = all_finite && std::isfinite(h);
    require(all_finite, "prototype", "a number that is not finite", "finite");
}

void pfb::check_channels(int channels)
{
    require_range("channels", channels, 4, 65536);
    require(channels % 2 == 0, "channels", std::to_string(channels), "even");
}

pfb::source pfb::later(const parameters& p, const source& from, size_t spectra)
{
    if (!from.samples || spectra == 0)
        return from;
    const size_t passed = spectra * p.hop(), shared = p.shared();
    return { static_cast<const char*>(from.samples) +
                 bytes_of(p.input, passed, p.inputs_per_port),
             // the passed spectra have counted the samples that they share with the next
             std::max(shared, from.counted - std::min(passed, from.counted)) };
}

} // namespace gr::aperture::kernels
