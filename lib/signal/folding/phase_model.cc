/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/types.h"
#include "signal/folding/phase_model.h"
#include <cmath>
#include <string>

namespace gr::aperture::kernels {

namespace {

constexpr int64_t end_of_time = 253402300800; // 10000-01-01T00:00:00Z

std::string text_of_time(const exact_seconds& t)
{
    return std::to_string(t.whole) + " s and " + text_of(t.fraction) + " s";
}

void check_time(const std::string& parameter, const exact_seconds& t)
{
    require(t.whole >= 0 && t.whole < end_of_time && t.fraction >= 0 && t.fraction < 1,
            parameter,
            text_of_time(t),
            "whole seconds before the year 10000 and a fraction of 0 to below 1");
}

} // namespace

phase_model::phase_model(std::vector<segment> segments) : d_segments(std::move(segments))
{
    require(!d_segments.empty(), "segments", "none", "one at least");
    for (size_t i = 0; i < d_segments.size(); i++) {
        const auto& s = d_segments[i];
        const auto place = "segments[" + std::to_string(i) + "].";
        check_time(place + "start", s.start);
        check_time(place + "reference", s.reference);
        require(s.length > 0 || (s.length == 0 && d_segments.size() == 1),
                place + "length",
                text_of(s.length),
                "more than 0 s, or 0 (for ever) of a single segment");
        require(std::isfinite(s.phase), place + "phase", text_of(s.phase), "a number");
        require(!s.coefficients.empty() && s.coefficients.size() <= 32,
                place + "coefficients",
                std::to_string(s.coefficients.size()) + " numbers",
                "1 to 32");
        for (const double c : s.coefficients)
            require(
                std::isfinite(c), place + "coefficients", text_of(c), "finite numbers");
        require(s.coefficients[0] > 0 && s.coefficients[0] <= 1e6,
                place + "coefficients[0]",
                text_of(s.coefficients[0]),
                "a frequency of more than 0 and up to 1e6 cycles a second");
        if (i > 0)
            require(s.start.since(d_segments[i - 1].start) > 0,
                    place + "start",
                    text_of_time(s.start),
                    "after that of the segment before it");
    }
}

bool phase_model::holds(const segment& s, const exact_seconds& time)
{
    const long double t = time.since(s.start);
    return s.length == 0 || (t >= 0 && t < s.length);
}

const phase_model::segment* phase_model::segment_at(const exact_seconds& time)
{
    for (size_t i = 0; i < d_segments.size(); i++) {
        const size_t place = (d_newest + i) % d_segments.size();
        if (holds(d_segments[place], time)) {
            d_newest = place;
            return &d_segments[place];
        }
    }
    return nullptr;
}

std::optional<phase_model::value> phase_model::at(const exact_seconds& time)
{
    const segment* s = segment_at(time);
    if (!s)
        return {};
    const long double t = time.since(s->reference);
    long double phase = 0, frequency = 0;
    for (size_t k = s->coefficients.size(); k-- > 0;) {
        phase = (phase + s->coefficients[k]) * t;
        frequency = frequency * t + (long double)(k + 1) * s->coefficients[k];
    }
    const long double whole = std::floor(phase);
    const long double rest = (phase - whole) + s->phase;
    const long double more = std::floor(rest);
    auto part = double(rest - more);
    auto turns = int64_t(whole) + int64_t(more) + s->turns;
    if (part >= 1) { // by rounding
        part = 0;
        turns++;
    }
    return value{ turns, part, double(frequency) };
}

} // namespace gr::aperture::kernels
