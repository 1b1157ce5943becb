/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/stream_clock.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture {

namespace {

// Stamps may be rounded to one of these.
constexpr std::array<double, 4> grids_per_second = { 1e6, 1e7, 1e8, 1e9 };
constexpr size_t most_points = 32;
constexpr size_t most_suspects = 8;
// Crystals have errors of up to a hundred millionths; two may drift apart by twice that.
constexpr double steepest = 2e-4;
// A rate that is named wrongly may be further off.
constexpr double steepest_noticed = 0.02;
// Exact stamps may be off a whole item by so much.
constexpr double near_whole = 0.05;
// Bits of evidence: exact stamps lie on a grid by chance once in 256 times.
constexpr double enough_evidence = 8;

bool is_whole(double number, double tolerance)
{
    return std::abs(number - std::round(number)) <= tolerance;
}

/*!
 * Returns the evidence of one stamp on a grid, in bits: every q-th item is on it, where
 * items are so many steps of it apart. It is never enough for two stamps, of which the
 * first is no evidence.
 */
double evidence_of_stamp(double steps)
{
    constexpr int most = 16;
    int q = 1;
    while (q < most && !is_whole(q * steps, 1e-6))
        q++;
    return std::log2(q);
}

} // namespace

void stream_clock::begin(const timestamp& origin, double rate)
{
    const source kept = d_source;
    *this = {};
    d_source = kept;
    d_origin = origin;
    d_rate = rate;
}

void stream_clock::wait(int64_t item, int64_t items)
{
    d_state = state::waiting;
    d_closed = item;
    d_expiry = item + items;
}

double stream_clock::offset_of(int64_t item, const timestamp& time) const
{
    return time.since(d_origin) * d_rate - double(item);
}

void stream_clock::set_origin(const timestamp& origin, int64_t ticks)
{
    d_origin = origin;
    d_offset += ticks;
    for (auto* points : { &d_points, &d_history })
        for (auto& p : *points)
            p.offset = offset_of(p.item, p.time);
    for (auto& p : d_suspects)
        p.offset = offset_of(p.item, p.time);
}

void stream_clock::set_time(const timestamp& origin)
{
    const timestamp later = origin - d_origin;
    for (auto* points : { &d_points, &d_history })
        for (auto& p : *points)
            p.time = p.time + later;
    for (auto& p : d_suspects)
        p.time = p.time + later;
    d_origin = origin;
}

void stream_clock::forget_stamps()
{
    const int64_t offset = d_offset;
    begin(timestamp(d_origin), d_rate);
    d_offset = offset;
}

void stream_clock::move(int64_t ticks)
{
    d_offset += ticks;
    const auto later = [&](point& p) {
        p.time = p.time.after(double(ticks), d_rate);
        p.offset = offset_of(p.item, p.time);
    };
    if (d_rate <= 0)
        return;
    std::for_each(d_points.begin(), d_points.end(), later);
    std::for_each(d_history.begin(), d_history.end(), later);
    std::for_each(d_suspects.begin(), d_suspects.end(), later);
}

double stream_clock::expected(int64_t item) const
{
    if (d_points.empty())
        return double(d_offset);
    // relative to the first one: the sum of large numbers has too few bits
    const double first = d_points.front().offset;
    double sum = 0;
    for (const auto& p : d_points)
        sum += p.offset - first + d_slope * double(item - p.item);
    return first + sum / double(d_points.size());
}

double stream_clock::rounding(double evidence) const
{
    for (size_t i = 0; i < d_grids.size(); i++) {
        if (!d_grids[i].all_on || d_grids[i].evidence < evidence)
            continue;
        // Items that are whole steps of the grid apart are all rounded alike.
        const double steps = grids_per_second[i] / d_rate;
        return is_whole(steps, 1e-6) && steps >= 0.5 ? 0 : 1 / steps;
    }
    return 0;
}

double stream_clock::peak() const
{
    // Stamps that are off to one side only do not scatter, but walk.
    return std::min(std::max(d_late, d_early), 3 * std::min(d_late, d_early));
}

double stream_clock::scatter() const { return std::max(rounding(0), peak()); }

double stream_clock::tolerance() const
{
    return std::max({ 0.5, 1.001 * rounding(enough_evidence), 1.5 * peak() });
}

void stream_clock::note_resolution(int64_t item, const timestamp& time)
{
    for (size_t i = 0; i < d_grids.size(); i++) {
        auto& grid = d_grids[i];
        grid.all_on = grid.all_on && is_whole(time.fraction * grids_per_second[i], 1e-6);
        // Stamps that are whole steps apart lie on the grid together or not at all:
        // rounding shows only in a stamp that would lie beside the grid if it were exact
        // and nothing was lost. Or a loss put it there.
        const double steps = grids_per_second[i] / d_rate; // an item
        if (d_knows && grid.all_on && !is_whole(double(item - d_newest) * steps, 1e-3))
            grid.evidence += evidence_of_stamp(steps);
    }
}

stream_clock::line stream_clock::fit(const std::deque<point>& points)
{
    const size_t n = points.size();
    const point& first = points.front();
    double x = 0, y = 0;
    for (const auto& p : points) {
        x += double(p.item - first.item) / n;
        y += (p.offset - first.offset) / n;
    }
    double xx = 0, xy = 0;
    for (const auto& p : points) {
        const double dx = double(p.item - first.item) - x;
        xx += dx * dx;
        xy += dx * (p.offset - first.offset - y);
    }
    line l{ xx > 0 ? xy / xx : 0, 0, first.item + std::llround(x), 0 };
    l.level = first.offset + y + l.slope * (std::round(x) - x);
    for (const auto& p : points)
        l.scatter =
            std::max(l.scatter,
                     std::abs(p.offset - l.level - l.slope * double(p.item - l.centre)));
    return l;
}

bool stream_clock::walks_finely(const std::deque<point>& points, const line& l) const
{
    double off = 0,
           step =
               0; // largest distance from whole items, and largest change between stamps
    for (size_t i = 1; i < points.size(); i++) {
        const double walked = points[i].offset - points[0].offset;
        off = std::max(off, std::abs(walked - std::round(walked)));
        step = std::max(step, std::abs(points[i].offset - points[i - 1].offset));
    }
    return off > near_whole + rounding(0) + 2 * l.scatter ||
           step <= rounding(enough_evidence);
}

std::optional<stream_clock::line>
stream_clock::line_through(const std::deque<point>& before, const point& p) const
{
    // A few stamps make a line by chance: only many are taken as the drift of a clock.
    const bool small = !before.empty() && std::abs(p.offset - before.back().offset) <= 2;
    if (before.size() < (small ? 3 : 5))
        return std::nullopt;
    std::deque<point> newest(before.end() - std::min<size_t>(before.size(), 8),
                             before.end());
    line l = fit(newest);
    const double walk =
        std::abs(l.slope) * double(newest.back().item - newest.front().item);
    const double near = std::max(0.25, scatter());
    if (std::abs(l.slope) > (is_followed() ? steepest : steepest_noticed) ||
        walk <= 0.25 + 3 * l.scatter || l.scatter > near ||
        std::abs(p.offset - l.level - l.slope * double(p.item - l.centre)) > near)
        return std::nullopt;
    newest.push_back(p);
    if (newest.size() > 8)
        newest.pop_front();
    l = fit(newest);
    return walks_finely(newest, l) ? std::optional<line>(l) : std::nullopt;
}

std::optional<double> stream_clock::walk_of_points() const
{
    if (d_points.size() < 8)
        return std::nullopt;
    const line l = fit(d_points);
    const double items = double(d_points.back().item - d_points.front().item);
    if (std::abs(l.slope) * items > 0.25 + 3 * l.scatter + rounding(0) &&
        walks_finely(d_points, l))
        return l.slope;
    // Stamps that scatter too much to form a line still walk away in the mean.
    const double walked = expected(d_points.back().item) - d_anchor;
    if (std::abs(walked) > 0.5 + scatter())
        return items > 0 && l.slope * walked > 0 ? l.slope : walked / std::max(1., items);
    return std::nullopt;
}

void stream_clock::remember(const point& p)
{
    d_history.push_back(p);
    if (d_history.size() > most_points)
        d_history.pop_front();
}

void stream_clock::confirm(const point& p, bool restated)
{
    const double late = p.offset - expected(p.item);
    d_late = std::max(0.99 * d_late, late);
    d_early = std::max(0.99 * d_early, -late);
    d_points.push_back(p);
    if (d_points.size() > most_points)
        d_points.pop_front();
    d_confirmed[restated] = std::min(d_confirmed[restated] + 1, 1000);
    if (!is_followed() && d_points.size() <= 8)
        d_anchor = expected(p.item);
    if (!is_followed() || d_points.size() < 8)
        return;
    const line l = fit(d_points);
    const double walk =
        std::abs(l.slope) * double(d_points.back().item - d_points.front().item);
    d_slope = walk > 0.25 + 3 * l.scatter && std::abs(l.slope) <= steepest ? l.slope : 0;
}

int64_t stream_clock::patience() const
{
    int64_t longest = 1;
    for (const int64_t pause : d_pauses)
        longest = std::max(longest, pause);
    return 4 * longest;
}

void stream_clock::describe(outcome& o, int64_t jump)
{
    o.what = jump > 0 ? event::gap : jump < 0 ? event::overlap : event::none;
    o.count = std::abs(jump);
}

int64_t stream_clock::jump_to(const point& p, double decided) const
{
    // From the offset, not from the stamps before the jump: these scatter, and so would
    // the sum of many jumps that were rounded one by one.
    return std::llround(p.offset - decided) - d_offset;
}

//! Makes the stamps that agree with each other the clock from here on.
void stream_clock::jump(const std::deque<point>& agreed, int64_t count)
{
    d_points = agreed;
    d_anchor = expected(agreed.back().item);
    d_offset += count;
    d_state = state::trusted;
    d_suspects.clear();
    // stamps on a slope of small jumps may be the drift of a clock
    const int64_t walked =
        d_history.empty() ? 0 : agreed.front().item - d_history.back().item;
    const double most = is_followed() ? steepest : steepest_noticed;
    if (std::abs(double(count)) > std::max(2., most * double(walked)))
        d_history.clear();
    for (const auto& p : agreed)
        remember(p);
}

stream_clock::outcomes stream_clock::reached(int64_t item, double decided)
{
    if (d_state == state::trusted || d_state == state::astray || item < d_expiry)
        return {};
    outcome o;
    o.opened = d_expiry;
    o.item = d_closed;
    if (d_state == state::probation) {
        const point newest = d_suspects.back();
        const int64_t count = jump_to(newest, decided);
        describe(o, count);
        o.item = newest.item;
        jump({ newest }, count);
    } else if (d_state == state::waiting) {
        o.what = event::no_stamp;
        o.item = d_expiry;
    }
    d_state = state::trusted;
    o.offset = d_offset;
    return { o };
}

stream_clock::outcomes stream_clock::doubt(int64_t item, double decided)
{
    auto out = reached(item, decided);
    if (d_state != state::trusted || !confirmed())
        return out;
    d_state = state::doubt;
    d_closed = item;
    d_expiry = item + patience();
    outcome o;
    o.closed = o.item = item;
    out.push_back(o);
    return out;
}

stream_clock::outcomes stream_clock::stamp(int64_t item,
                                           const timestamp& time,
                                           bool restated,
                                           const walk& walked)
{
    auto out = reached(item, walked.decided);
    note_resolution(item, time);
    const point p{ item, time, offset_of(item, time) };
    const auto more = d_state == state::probation ? judge_on_probation(p, walked.decided)
                      : d_state == state::astray
                          ? judge_astray(p, restated, walked.decided)
                          : judge(p, restated, walked);
    out.insert(out.end(), more.begin(), more.end());
    // The pause after a jump on probation tells nothing about the usual ones.
    if (d_knows && d_newest < item && d_state != state::probation) {
        d_pauses.push_back(item - d_newest);
        if (d_pauses.size() > 8)
            d_pauses.pop_front();
    }
    d_knows = true;
    d_newest = item;
    return out;
}

stream_clock::outcomes
stream_clock::judge(const point& p, bool restated, const walk& walked)
{
    outcome o;
    o.item = p.item;
    if (!d_knows) {
        const int64_t count = jump_to(p, walked.decided);
        jump({ p }, count);
        if (was_followed()) // the sender of the items has confirmed it
            d_confirmed[false] = 2;
        o.what = event::first_stamp;
        o.count = count;
        o.closed = o.opened = p.item;
        o.offset = d_offset;
        return { o };
    }
    const double late = p.offset - expected(p.item);
    const bool corrects = was_followed() && (!restated || std::abs(late) <= tolerance());
    std::optional<line> drift;
    if (std::abs(late) > tolerance() && !corrects)
        drift = line_through(d_history, p);
    if (drift && !is_followed())
        return { go_astray(p, drift->slope) };
    if (std::abs(late) <= tolerance() || drift || corrects) {
        if (drift)
            d_slope = drift->slope;
        if (corrects)
            d_points = { p };
        else
            confirm(p, restated);
        remember(p);
        if (const auto slope = is_followed() ? std::nullopt : walk_of_points())
            return { go_astray(p, *slope) };
        // The leading clock may have been read further than this one, or less far, and
        // its values scatter: a clock that agrees with the decided walk stays where it
        // is.
        const auto [low, high] = std::minmax({ walked.decided, walked.now });
        const double there = lag(p.item);
        const double apart = walked.leads ? 0 : there - std::clamp(there, low, high);
        if (std::abs(apart) > scatter() + 0.75) {
            const int64_t count = std::llround(apart);
            d_offset += count;
            describe(o, count);
            o.closed = o.opened = p.item;
        } else if (d_state == state::doubt) {
            o.opened = p.item;
        } else {
            return {};
        }
        d_state = state::trusted;
        o.offset = d_offset;
        return { o };
    }
    if (d_state == state::trusted && d_confirmed[restated] >= 2) {
        d_state = state::probation;
        d_suspects = { p };
        d_closed = p.item;
        d_expiry = p.item + patience();
        o.closed = p.item;
        return { o };
    }
    const int64_t count = jump_to(p, walked.decided);
    jump({ p }, count);
    describe(o, count);
    o.closed = o.opened = p.item;
    o.offset = d_offset;
    return { o };
}

stream_clock::outcomes stream_clock::judge_on_probation(const point& p, double decided)
{
    const double late = p.offset - expected(p.item);
    const point* nearest = nullptr;
    double distance = tolerance();
    for (const auto& s : d_suspects) {
        const double d =
            std::abs(p.offset - s.offset - d_slope * double(p.item - s.item));
        if (d <= distance) {
            distance = d;
            nearest = &s;
        }
    }
    outcome o;
    o.item = d_closed;
    if (std::abs(late) <= tolerance() && (!nearest || std::abs(late) <= distance)) {
        d_suspects.clear();
        d_state = state::trusted;
        confirm(p, false);
        remember(p);
        o.what = event::odd_stamp;
        o.count = p.item - d_closed;
    } else if (nearest) {
        const point first = *nearest;
        point middle = p;
        middle.offset +=
            (first.offset - p.offset + d_slope * double(p.item - first.item)) / 2;
        const int64_t count = jump_to(middle, decided);
        describe(o, count);
        o.item = first.item;
        jump({ first, p }, count);
    } else if (const auto drift = line_through(d_suspects, p)) {
        if (!is_followed())
            return { go_astray(p, drift->slope) };
        const int64_t count = jump_to(p, decided);
        describe(o, count);
        o.item = d_suspects.front().item;
        auto walked = d_suspects;
        walked.push_back(p);
        jump(walked, count);
        d_slope = drift->slope;
    } else {
        if (d_suspects.size() == most_suspects)
            d_suspects.pop_front();
        d_suspects.push_back(p);
        d_expiry = p.item + patience();
        return {};
    }
    o.opened = p.item;
    o.offset = d_offset;
    return { o };
}

stream_clock::outcome stream_clock::go_astray(const point& p, double slope)
{
    outcome o;
    o.item = p.item;
    o.slope = slope;
    o.closed = p.item;
    if (!d_told)
        o.what = event::drift;
    d_told = true;
    d_state = state::astray;
    d_closed = p.item;
    d_astray = slope;
    d_points = { p };
    d_suspects.clear();
    d_history.clear();
    return o;
}

stream_clock::outcomes
stream_clock::judge_astray(const point& p, bool restated, double decided)
{
    outcome o;
    o.item = p.item;
    const point& last = d_points.back();
    const double walk = d_astray * double(p.item - last.item);
    const double off = std::abs(p.offset - last.offset);
    bool trusted = false;
    if (off > 2 + tolerance() + 2 * std::abs(walk)) {
        // a source that tags its rate again began anew
        trusted = restated;
        d_points = { p };
    } else {
        d_points.push_back(p);
        // The walk has ended where the newest stamps would show it, but do not.
        for (size_t count = 4; count <= d_points.size(); count++) {
            const std::deque<point> newest(d_points.end() - count, d_points.end());
            const line l = fit(newest);
            const double items = double(p.item - newest.front().item);
            const double foretold = std::abs(d_astray) * items;
            if (foretold <= 0.5 + 3 * l.scatter + 2 * rounding(0))
                continue;
            trusted = std::abs(l.slope) * items < foretold / 4;
            break;
        }
        if (d_points.size() > most_points) // keep the ones that reach far back
            for (size_t i = 1; i < d_points.size(); i++)
                d_points.erase(d_points.begin() + i);
    }
    if (!trusted)
        return {};
    const int64_t count = jump_to(p, decided);
    describe(o, count);
    jump({ p }, count);
    o.opened = p.item;
    o.offset = d_offset;
    return { o };
}

} // namespace gr::aperture
