/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/detection/detection.h"
#include <algorithm>

namespace gr::aperture::kernels {

int detection::product_count() const
{
    switch (products) {
    case product_set::power:
    case product_set::intensity:
        return 1;
    default:
        return 4;
    }
}

size_t detection::powers(int channels, int beams, int times) const
{
    return std::max<size_t>(1, integrations(times)) * rows(beams) * product_count() *
           (channels / summed_channels);
}

void detection::check(int channels, int beams, int times) const
{
    require(spectra >= 1 &&
                (spectra <= times ? times % spectra == 0 : spectra % times == 0),
            "spectra",
            std::to_string(spectra),
            "a divisor or a multiple of the " + std::to_string(times) +
                " spectra of a frame");
    require(summed_channels >= 1 && channels % summed_channels == 0,
            "summed_channels",
            std::to_string(summed_channels),
            "a divisor of " + std::to_string(channels) + " channels");
    require(!of_pairs() || beams % 2 == 0,
            "beams",
            std::to_string(beams),
            "even for products of pairs");
}

detection::product_set parse_products(const std::string& name)
{
    if (name == "power")
        return detection::product_set::power;
    if (name == "I")
        return detection::product_set::intensity;
    if (name == "IQUV")
        return detection::product_set::stokes;
    require(name == "coherency",
            "products",
            "'" + name + "'",
            "one of power, I, IQUV, coherency");
    return detection::product_set::coherency;
}

detection::feeds parse_basis(const std::string& name)
{
    if (name == "linear")
        return detection::feeds::linear;
    require(name == "circular", "basis", "'" + name + "'", "one of linear, circular");
    return detection::feeds::circular;
}

} // namespace gr::aperture::kernels
