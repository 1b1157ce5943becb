/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/noise_cycle.h"
#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::aperture {

namespace {

bool any_known(const std::vector<double>& values)
{
    return std::any_of(
        values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

//! Returns of each input whose coherence is known in both whether it has less than a part
//! of that elsewhere.
std::vector<bool> below(double part,
                        const std::vector<double>& coherence,
                        const std::vector<double>& elsewhere)
{
    std::vector<bool> low;
    for (size_t i = 0; i < std::min(coherence.size(), elsewhere.size()); i++)
        if (std::isfinite(coherence[i]) && std::isfinite(elsewhere[i]))
            low.push_back(coherence[i] < part * elsewhere[i]);
    return low;
}

bool any(const std::vector<bool>& of)
{
    return std::find(of.begin(), of.end(), true) != of.end();
}

bool all(const std::vector<bool>& of)
{
    return std::find(of.begin(), of.end(), false) == of.end();
}

} // namespace

void noise_cycle::set_lengths(int64_t settle, int64_t patience)
{
    d_settle = settle;
    d_patience = patience;
}

noise_cycle::outcome noise_cycle::enter(stage s, int64_t tick, outcome o)
{
    d_stage = s;
    d_since = tick;
    d_low = 0;
    o.ended = s == stage::off;
    return o;
}

noise_cycle::outcome noise_cycle::enter(stage s, int64_t tick)
{
    return enter(s, tick, {});
}

noise_cycle::outcome noise_cycle::begin(int64_t tick, bool by_hand)
{
    outcome o;
    if (!active() || d_stage == stage::falling) {
        o.switch_to = true;
        d_by_hand = false;
    }
    d_by_hand = d_by_hand || by_hand;
    d_complained = d_again = false;
    d_reference.clear();
    return enter(stage::searching, tick, o);
}

noise_cycle::outcome noise_cycle::end(int64_t tick)
{
    if (!active() || d_stage == stage::falling)
        return {};
    d_by_hand = false;
    outcome o;
    o.switch_to = false;
    return enter(stage::falling, tick, o);
}

noise_cycle::outcome noise_cycle::measured(int64_t tick, std::vector<double> coherence)
{
    if (d_stage != stage::searching)
        return {};
    d_searched = std::move(coherence);
    if (any_known(d_searched))
        return enter(stage::gauging, tick);
    if (d_complained || tick < d_since + d_patience)
        return {};
    outcome o;
    o.silent = d_complained = true;
    if (d_by_hand)
        return o;
    o.switch_to = false;
    return enter(stage::falling, tick, o);
}

noise_cycle::outcome noise_cycle::gauge(int64_t tick,
                                        const std::vector<double>& coherence)
{
    if (d_stage == stage::gauging) {
        if (!any_known(coherence))
            return {};
        if (!d_again && any(below(whole, d_searched, coherence))) {
            outcome o;
            o.again = d_again = true;
            return enter(stage::searching, tick, o);
        }
        d_reference = coherence;
        return end_gauging(tick);
    }
    if (d_stage != stage::falling)
        return {};
    const auto low = below(fallen, coherence, d_reference);
    d_low = any(low) && all(low) ? d_low + 1 : 0;
    if (d_low < windows)
        return {};
    outcome o;
    o.answered = true;
    return enter(stage::off, tick, o);
}

noise_cycle::outcome noise_cycle::end_gauging(int64_t tick)
{
    if (d_by_hand)
        return enter(stage::held, tick);
    outcome o;
    o.switch_to = false;
    return enter(stage::falling, tick, o);
}

noise_cycle::outcome noise_cycle::pass(int64_t tick)
{
    const int64_t passed = tick - d_since;
    if (d_stage == stage::gauging && passed >= d_patience) {
        // samples are missing all the while: nothing says when the source is off
        return end_gauging(tick);
    }
    if (d_stage != stage::falling)
        return {};
    if (d_reference.empty())
        return passed >= d_settle ? enter(stage::off, tick) : outcome();
    if (passed < d_patience)
        return {};
    outcome o;
    o.stays = true;
    return enter(stage::off, tick, o);
}

} // namespace gr::aperture
