/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beam_power/beam_power.h"
#include <algorithm>

namespace gr::aperture::kernels {

void beam_power::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("inputs", inputs, 1, 65536);
    require_range("incoherent_beams", incoherent, 0, 4096);
    require_range("beams", beams, incoherent > 0 ? 0 : 1, 4096);
    require_range("spectra_per_frame", spectra_per_frame, 1, 1 << 30);
    require(input == sample_type::sc8 || input == sample_type::sc4 ||
                input == sample_type::fc32,
            "type",
            name_of(input),
            "sc8, sc4 or fc32");
    detect.check(channels, beams, spectra_per_frame);
    require(!detect.of_pairs() || incoherent % 2 == 0,
            "incoherent_beams",
            std::to_string(incoherent),
            "even for products of pairs");
}

void beam_power::parameters::check_masks(const uint8_t* masks) const
{
    if (!detect.of_pairs())
        return;
    for (int beam = 0; beam < incoherent; beam += 2) {
        const auto* mask = masks + size_t(beam) * inputs;
        const auto x = std::count(mask, mask + inputs, 1);
        const auto y = std::count(mask + inputs, mask + 2 * inputs, 1);
        require(x == y,
                "masks",
                std::to_string(x) + " and " + std::to_string(y) +
                    " inputs for the beams of a pair, " + std::to_string(beam) + " and " +
                    std::to_string(beam + 1) + ",",
                "as many for both");
    }
}

} // namespace gr::aperture::kernels
