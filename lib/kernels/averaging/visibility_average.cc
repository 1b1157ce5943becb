/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/averaging/visibility_average.h"
#include <algorithm>

namespace gr::aperture::kernels {

int visibility_average::parameters::most_items() const
{
    // uploads of a call: counts of each product, and rotations
    const int64_t numbers =
        all() + int64_t(sums()) + 4 * int64_t(std::max(centers, 0)) * inputs;
    return int(std::clamp<int64_t>((int64_t(1) << 20) / numbers, 1, 256));
}

void visibility_average::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("inputs", inputs, 1, 65536);
    require_range("average_channels", summed_channels, 1, channels);
    require(channels % summed_channels == 0,
            "average_channels",
            std::to_string(summed_channels),
            "a divisor of the " + std::to_string(channels) + " channels");
    require(!products.empty(), "products", "an empty list", "one pair of inputs or more");
    for (const auto& [a, b] : products)
        require(a >= 0 && a < inputs && b >= 0 && b < inputs,
                "products",
                "(" + std::to_string(a) + ", " + std::to_string(b) + ")",
                "of inputs 0 to " + std::to_string(inputs - 1));
    require_range("centers", centers, 0, 1024);
    require_range("gates", gates, 1, 1024);
}

} // namespace gr::aperture::kernels
