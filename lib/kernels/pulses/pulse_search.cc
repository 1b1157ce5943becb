/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/pulses/pulse_search.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels {

namespace {

void require_between(const char* name, double value, double low, double high)
{
    require(value >= low && value <= high,
            name,
            text_of(value),
            "from " + text_of(low) + " to " + text_of(high));
}

} // namespace

void pulse_search::parameters::check() const
{
    trials.check();
    require_between("sample_time", sample_time, 1e-9, 1e3);
    require_between("baseline", window, sample_time, 1e6);
    require_range("widest", widest, 1, widest_boxcar);
    require_between("growth", growth, least_growth, most_growth);
    require_between("threshold", threshold, 1, 1e6);
    require_range("most_cells", most_cells, 1, 1 << 20);
    require(int64_t(trials.beams) * trials.trials() <= (1 << 30),
            "dms",
            std::to_string(trials.beams) + " beams x " + std::to_string(trials.trials()) +
                " trials",
            "at most 2^30 of both");
}

window_bins bins_of(double window, double value_time)
{
    const double groups = std::min(window / value_time / group_values, 1e9);
    int each = 1;
    while (std::ceil(groups / each) > most_bins)
        each *= 2;
    return { each, std::max(4, int(std::ceil(groups / each))) };
}

double median_of_variance(int groups)
{
    const double nu = double(group_values - 1) * groups;
    return std::pow(1 - 2 / (9 * nu), 3);
}

} // namespace gr::aperture::kernels
