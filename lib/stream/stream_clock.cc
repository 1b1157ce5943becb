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
// Cheap crystals are off by a hundred millionths, and drift apart from another one.
constexpr double steepest = 2e-4;
// Bits: that exact stamps lie on a grid by chance is one in 256.
constexpr double enough_evidence = 8;

bool is_whole(double number, double tolerance)
{
    return std::abs(number - std::round(number)) <= tolerance;
}

/*!
 * How much one stamp on a grid says, in bits: every q-th item is on it, where items are
 * so many steps of it apart. Never enough for two stamps, of which the first says
 * nothing.
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
    *this = {};
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

double stream_clock::scatter() const { return std::max(rounding(0), d_peak); }

double stream_clock::tolerance() const
{
    return std::max({ 0.5, 1.001 * rounding(enough_evidence), 1.5 * d_peak });
}

void stream_clock::note_resolution(int64_t item, const timestamp& time)
{
    for (size_t i = 0; i < d_grids.size(); i++) {
        auto& grid = d_grids[i];
        grid.all_on = grid.all_on && is_whole(time.fraction * grids_per_second[i], 1e-6);
        // Stamps that are whole steps apart lie on the grid together or not at all: only
        // one that would lie beside it, were it exact and nothing lost, says that stamps
        // are rounded. Or what was lost put it there.
        const double steps = grids_per_second[i] / d_rate; // an item
        if (d_knows && grid.all_on && !is_whole(double(item - d_newest) * steps, 1e-3))
            grid.evidence += evidence_of_stamp(steps);
    }
}

stream_clock::line stream_clock::fit(const std::deque<point>& points, size_t skip)
{
    const size_t n = points.size() - skip;
    const auto first = points.begin() + skip;
    double x = 0, y = 0;
    for (auto p = first; p != points.end(); ++p) {
        x += double(p->item - first->item) / n;
        y += (p->offset - first->offset) / n;
    }
    double xx = 0, xy = 0;
    for (auto p = first; p != points.end(); ++p) {
        const double dx = double(p->item - first->item) - x;
        xx += dx * dx;
        xy += dx * (p->offset - first->offset - y);
    }
    line l{ xx > 0 ? xy / xx : 0, 0, first->item + std::llround(x), 0 };
    l.level = first->offset + y + l.slope * (std::round(x) - x);
    for (auto p = first; p != points.end(); ++p)
        l.scatter = std::max(
            l.scatter,
            std::abs(p->offset - l.level - l.slope * double(p->item - l.centre)));
    return l;
}

bool stream_clock::on_line(const point& p) const
{
    // A few stamps make a line by chance, and equal losses at equal intervals make one,
    // too: only many of them are believed to be the drift of a clock.
    const bool small = std::abs(p.offset - expected(p.item)) <= 2;
    const size_t wanted = small ? 3 : 7;
    if (d_history.size() < wanted)
        return false;
    const line l = fit(d_history, d_history.size() > 8 ? d_history.size() - 8 : 0);
    const auto first = d_history.size() > 8 ? d_history.end() - 8 : d_history.begin();
    const double walk = std::abs(l.slope) * double(d_history.back().item - first->item);
    const double near = std::max(0.25, scatter());
    return std::abs(l.slope) <= steepest && walk > 0.25 + 3 * l.scatter &&
           l.scatter <= near &&
           std::abs(p.offset - l.level - l.slope * double(p.item - l.centre)) <= near;
}

void stream_clock::remember(const point& p)
{
    d_history.push_back(p);
    if (d_history.size() > most_points)
        d_history.pop_front();
}

void stream_clock::confirm(const point& p, bool restated)
{
    d_peak = std::max(0.99 * d_peak, std::abs(p.offset - expected(p.item)));
    d_points.push_back(p);
    if (d_points.size() > most_points)
        d_points.pop_front();
    d_confirmed[restated] = std::min(d_confirmed[restated] + 1, 1000);
    if (d_points.size() < 8)
        return;
    const line l = fit(d_points, 0);
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

//! The stamps that agree with each other are the clock from here on.
void stream_clock::jump(const std::vector<point>& agreed, int64_t count)
{
    d_points.assign(agreed.begin(), agreed.end());
    d_offset += count;
    d_state = state::trusted;
    d_suspects.clear();
    // what lies on a slope of small jumps may be the drift of a clock
    const int64_t walked =
        d_history.empty() ? 0 : agreed.front().item - d_history.back().item;
    if (std::abs(double(count)) > std::max(2., steepest * double(walked)))
        d_history.clear();
    for (const auto& p : agreed)
        remember(p);
}

stream_clock::outcomes stream_clock::reached(int64_t item, double decided)
{
    if (d_state == state::trusted || item < d_expiry)
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
                                                  : judge(p, restated, walked);
    out.insert(out.end(), more.begin(), more.end());
    // The pause after a jump on probation says nothing of the usual ones.
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
        o.what = event::first_stamp;
        o.count = count;
        o.closed = o.opened = p.item;
        o.offset = d_offset;
        return { o };
    }
    const double late = p.offset - expected(p.item);
    const bool drifts = std::abs(late) > tolerance() && on_line(p);
    if (std::abs(late) <= tolerance() || drifts) {
        if (drifts) {
            auto all = d_history;
            all.push_back(p);
            d_slope = fit(all, all.size() > 8 ? all.size() - 8 : 0).slope;
        }
        confirm(p, restated);
        remember(p);
        // The clock that leads may have been read further than this one, or less far, and
        // what it says scatters: who agrees with what was decided stays where it is.
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
    } else {
        if (d_suspects.size() == most_suspects)
            d_suspects.erase(d_suspects.begin());
        d_suspects.push_back(p);
        d_expiry = p.item + patience();
        return {};
    }
    o.opened = p.item;
    o.offset = d_offset;
    return { o };
}

} // namespace gr::aperture
