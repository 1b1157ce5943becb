/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pulses/boxcars.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels {

namespace {

//! Returns a boxcar whose width is rounded down to a multiple of its level's unit.
boxcar boxcar_of(int width)
{
    int level = 0;
    while (width > most_units << level)
        level++;
    const int units = width >> level;
    return { units << level, level, units };
}

} // namespace

std::vector<boxcar> boxcars(int widest, double growth)
{
    const boxcar last = boxcar_of(widest);
    std::vector<boxcar> found{ boxcar_of(1) };
    while (found.back().width < last.width) {
        const int width = found.back().width;
        // the product of 1.1 and 10 may lie just below 11
        auto next = boxcar_of(int(std::floor(width * growth * (1 + 1e-12))));
        if (next.width <= width)
            next = boxcar_of(width + (1 << boxcar_of(width + 1).level));
        found.push_back(next.width < last.width ? next : last);
    }
    return found;
}

} // namespace gr::aperture::kernels
