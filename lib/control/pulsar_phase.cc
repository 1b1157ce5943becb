/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "control/pulsar_phase.h"
#include "kernels/common/types.h"
#include <algorithm>

namespace gr::aperture {

namespace {

kernels::exact_seconds exact(const std::pair<uint64_t, double>& time)
{
    return { int64_t(time.first), time.second };
}

} // namespace

kernels::phase_model phase_model_of(const std::vector<folder::segment>& segments)
{
    std::vector<kernels::phase_model::segment> k;
    for (size_t i = 0; i < segments.size(); i++) {
        const auto& s = segments[i];
        const uint64_t latest = std::max(s.start.first, s.reference.first);
        require(latest < timestamp::end_of_time,
                "segments[" + std::to_string(i) + "]",
                "a time of " + std::to_string(latest) + " s",
                "before the year 10000");
        k.push_back({ exact(s.start),
                      s.length,
                      exact(s.reference),
                      s.turns,
                      s.phase,
                      s.coefficients });
    }
    return kernels::phase_model(std::move(k));
}

std::string no_segment_at(const timestamp& time)
{
    return "segments: none holds at " + std::to_string(time.seconds) + " s and " +
           text_of(time.fraction) + " s since 1970";
}

} // namespace gr::aperture
