/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/zoom/zoom.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels {

void zoom::parameters::check() const
{
    require_range("ports", ports, 1, 65536);
    require_range("inputs_per_port", inputs_per_port, 1, 65536);
    require(output == sample_type::fc32 || output == sample_type::sc8,
            "output_type",
            name_of(output),
            "fc32 or sc8");
    require(!stages.empty(), "stages", "0", "at least one");
    for (const auto& s : stages) {
        require(s.taps.size() % 2 == 1 && int64_t(s.taps.size()) >= s.decimation,
                "taps",
                std::to_string(s.taps.size()),
                "an odd number, at least the decimation");
        require(std::all_of(s.taps.begin(),
                            s.taps.end(),
                            [](float h) { return std::isfinite(h); }),
                "taps",
                "a number that is not finite",
                "finite");
    }
    require_range("decimation", hop(), 1, 4096);
    const int unit = samples_in_item(input, inputs_per_port);
    require(hop() % unit == 0,
            "decimation",
            std::to_string(hop()),
            "a multiple of " + std::to_string(unit) + ", the samples of an item of " +
                name_of(input));
}

} // namespace gr::aperture::kernels
