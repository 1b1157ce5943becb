/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/stream_alignment.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace gr::aperture {

namespace {

// Ticks are integers of 63 bits: a stamp that is further away than this has no tick.
constexpr double furthest = 1e17;
// The longest wait of a port for its first stamp, in seconds, if others have one.
constexpr double longest_wait = 1;
// A clock that was followed before is exact to so many seconds.
constexpr double exact = 1e-9;

stream_alignment::event::kind kind_of(stream_clock::event e)
{
    using kind = stream_alignment::event::kind;
    switch (e) {
    case stream_clock::event::gap:
        return kind::gap;
    case stream_clock::event::overlap:
        return kind::overlap;
    case stream_clock::event::odd_stamp:
        return kind::odd_stamp;
    case stream_clock::event::first_stamp:
        return kind::first_stamp;
    case stream_clock::event::drift:
        return kind::drift;
    default:
        return kind::no_stamp;
    }
}

} // namespace

stream_alignment::stream_alignment(int ports, int64_t window, int64_t hop)
    : d_timeline(ports, window, hop),
      d_clocks(ports),
      d_first_lags(ports),
      d_frozen(ports),
      d_loose(ports),
      d_waits(ports),
      d_unplaced(ports),
      d_introduced(ports),
      d_resumed(ports),
      d_filled(ports),
      d_corrections(ports),
      d_reached(ports)
{
}

void stream_alignment::reset()
{
    d_timeline.reset();
    std::fill(d_clocks.begin(), d_clocks.end(), stream_clock());
    std::fill(d_first_lags.begin(), d_first_lags.end(), 0);
    std::fill(d_frozen.begin(), d_frozen.end(), std::nullopt);
    std::fill(d_loose.begin(), d_loose.end(), false);
    std::fill(d_waits.begin(), d_waits.end(), true);
    std::fill(d_unplaced.begin(), d_unplaced.end(), false);
    std::fill(d_introduced.begin(), d_introduced.end(), std::nullopt);
    std::fill(d_resumed.begin(), d_resumed.end(), 0);
    std::fill(d_filled.begin(), d_filled.end(), 0);
    for (auto& corrections : d_corrections)
        corrections.clear();
    std::fill(d_reached.begin(), d_reached.end(), 0);
    d_origin = {};
    d_axis.clear();
    d_leader = -1;
    d_time_known = false;
    d_rate = d_most_gap = 0;
    d_events.clear();
}

void stream_alignment::begin(const std::vector<std::optional<timestamp>>& times,
                             const timestamp& start,
                             double rate,
                             double most_gap,
                             bool anew_where_restated)
{
    d_anew_where_restated = anew_where_restated;
    d_origin = start;
    d_axis = { { position(), start, 0 } };
    d_rate = rate;
    d_most_gap = most_gap;
    d_time_known =
        std::any_of(times.begin(), times.end(), [](const auto& t) { return bool(t); });
    for (size_t port = 0; port < times.size(); port++) {
        auto& clock = d_clocks[port];
        clock.begin(start, rate);
        if (d_unplaced[port]) {
            wait_for_stamp(int(port), 0);
            continue;
        } else if (rate > 0 && times[port]) {
            const double early = start.since(*times[port]) * rate;
            if (early > 0.5)
                d_events.push_back({ event::kind::early_start,
                                     int(port),
                                     0,
                                     std::llround(std::min(early, furthest)) });
            if (early < furthest)
                clock.stamp(0, *times[port], true, {});
            d_first_lags[port] = clock.lag(0);
        } else if (rate > 0 && d_time_known) {
            wait_for_stamp(int(port), 0);
            continue;
        }
        d_timeline.open(int(port), 0, clock.offset());
    }
}

void stream_alignment::set_rate(double rate)
{
    if (d_rate > 0)
        return;
    d_rate = rate;
    for (auto& clock : d_clocks) {
        const int64_t offset = clock.offset();
        clock.begin(d_origin, rate);
        clock.set_origin(d_origin, offset);
    }
}

void stream_alignment::stamp(int port, int64_t item, const timestamp& time, bool restated)
{
    if (d_rate <= 0)
        return;
    if (std::abs(time.since(d_origin)) * d_rate > furthest) {
        d_events.push_back({ event::kind::odd_stamp, port, item, 0 });
        return;
    }
    auto& clock = d_clocks[port];
    const bool first = !clock.knows_time();
    if (clock.was_followed() && !first && port != leader()) {
        // The walk of the leading clock is not known before it was read as far.
        compare_corrections(port, restated);
        if (!restated) {
            d_corrections[port].push_back({ item, time });
            compare_corrections(port, false);
            return;
        }
    }
    const double decided = d_axis.back().walked;
    const auto outcomes =
        clock.stamp(item,
                    time,
                    restated,
                    { decided, walked_at(item + clock.offset()), port == leader() });
    if (first)
        d_first_lags[port] = clock.lag(item) - decided;
    if (!d_time_known) {
        set_time(port, item, time, outcomes.back().count);
    } else {
        apply(port, outcomes, restated);
        follow(port, item);
    }
}

void stream_alignment::set_time(int port,
                                int64_t item,
                                const timestamp& time,
                                int64_t moved)
{
    auto& clock = d_clocks[port];
    clock.set_origin(d_origin, -moved);
    d_origin = time.after(-double(item + clock.offset()), d_rate);
    for (auto& c : d_clocks)
        c.set_origin(d_origin, 0);
    d_time_known = true;
    d_timeline.close(port, item);
    d_frozen[port] = item;
    d_events.push_back({ event::kind::first_stamp, port, item, 0 });
}

bool stream_alignment::introduce(int port,
                                 int64_t item,
                                 const timestamp& time,
                                 bool known)
{
    if (known &&
        std::abs(time.since(time_of(double(tick_of(port, item))))) > d_most_gap) {
        d_events.push_back({ event::kind::odd_stamp, port, item, 0 });
        return false;
    }
    d_timeline.close(port, item);
    d_frozen[port] = item;
    d_introduced[port] = introduction{ time, known };
    return true;
}

void stream_alignment::compare_corrections(int port, bool all)
{
    auto& corrections = d_corrections[port];
    auto& clock = d_clocks[port];
    while (!corrections.empty()) {
        const auto [item, time] = corrections.front();
        const int64_t tick = item + clock.offset();
        const int first = leader();
        if (!all && first != port && first < int(d_clocks.size()) &&
            d_reached[first] + d_clocks[first].offset() <= tick)
            return;
        corrections.pop_front();
        const double walked = axis_at(tick).walked;
        apply(port, clock.stamp(item, time, false, { walked, walked, false }));
    }
}

void stream_alignment::wait_for_stamp(int port, int64_t item)
{
    d_clocks[port].wait(item,
                        d_unplaced[port] ? never : std::llround(longest_wait * d_rate));
}

timestamp stream_alignment::settle(int port)
{
    d_unplaced[port] = false;
    auto& clock = d_clocks[port];
    const auto& [time, known] = *d_introduced[port];
    const int64_t item = *d_frozen[port];
    const double walked = d_axis.back().walked;
    const timestamp before = d_origin;
    if (!known)
        d_origin = time.after(-double(item + clock.offset()) - walked, d_rate);
    for (auto& c : d_clocks)
        c.set_time(d_origin);
    clock.forget_stamps();
    const auto outcomes = clock.stamp(item, time, false, { walked, walked, false });
    d_time_known = true;
    d_events.push_back({ event::kind::first_stamp, port, item, outcomes.back().count });
    return d_origin - before;
}

void stream_alignment::loss(int port, int64_t item)
{
    apply(port, d_clocks[port].doubt(item, d_axis.back().walked));
    boundary(port, item);
}

void stream_alignment::boundary(int port, int64_t item)
{
    if (d_clocks[port].trusted() && !d_frozen[port])
        open(port, item, item + d_clocks[port].offset());
}

void stream_alignment::open(int port, int64_t item, int64_t tick)
{
    d_timeline.close(port, item);
    const int64_t filled = std::max<int64_t>(0, d_filled[port] - item);
    d_timeline.open(port, item + filled, tick + filled);
}

void stream_alignment::filled(int port, int64_t item, int64_t count)
{
    d_filled[port] = std::max(d_filled[port], item + count);
    boundary(port, item);
}

void stream_alignment::move(int port, int64_t ticks, int64_t readable)
{
    d_clocks[port].move(ticks);
    d_timeline.shift(port, ticks);
    d_timeline.forget_before(port, readable);
}

double stream_alignment::lag(int port, int64_t tick) const
{
    const auto& clock = d_clocks[port];
    return clock.knows_time() ? clock.lag(tick - clock.offset()) - axis_at(tick).walked
                              : 0;
}

void stream_alignment::reached(int port, int64_t item)
{
    auto& clock = d_clocks[port];
    apply(port, clock.reached(item, d_axis.back().walked));
    d_reached[port] = std::max(d_reached[port], item);
    for (size_t other = 0; other < d_clocks.size(); other++)
        compare_corrections(int(other), false);
    if (!clock.trusted() && !d_frozen[port])
        d_timeline.pass(port, item + clock.offset());
}

void stream_alignment::apply(int port,
                             const stream_clock::outcomes& outcomes,
                             bool restated)
{
    for (const auto& o : outcomes)
        apply(port, o, restated && d_anew_where_restated);
}

void stream_alignment::apply(int port, const stream_clock::outcome& o, bool anew)
{
    const bool at_once = d_timeline.is_open(port) && o.closed == o.opened;
    if (o.closed)
        d_timeline.close(port, *o.closed);
    int64_t jump = o.what == stream_clock::event::gap           ? o.count
                   : o.what == stream_clock::event::overlap     ? -o.count
                   : o.what == stream_clock::event::first_stamp ? o.count
                                                                : 0;
    event e{ kind_of(o.what), port, o.item, std::abs(o.count), o.slope };
    if (o.opened) {
        const int64_t tick = *o.opened + o.offset;
        // items that would become missing; those by which others are ahead do not
        const int64_t filled = tick - std::max(tick - jump, position());
        if (std::max(filled, -jump) > (anew ? 0 : most_ticks())) {
            d_frozen[port] = *o.opened;
            e.what = event::kind::new_start;
        } else {
            // Items up to here were passed, whether reached() was called so far or not.
            if (!at_once)
                d_timeline.pass(port, tick - jump);
            open(port, *o.opened, tick);
        }
    }
    if (o.what != stream_clock::event::none)
        d_events.push_back(e);
}

double stream_alignment::walked_at(int64_t tick) const
{
    if (d_leader < 0 || !d_clocks[d_leader].is_followed())
        return d_axis.back().walked;
    const auto& clock = d_clocks[d_leader];
    return clock.lag(tick - clock.offset()) - d_first_lags[d_leader];
}

int stream_alignment::leader() const
{
    // A clock that was confirmed stays so, even while a stamp is on probation: a leading
    // clock is replaced by that of a lower port only, whichever is read first.
    return int(std::find_if(d_clocks.begin(),
                            d_clocks.end(),
                            [](const auto& c) { return c.confirmed(); }) -
               d_clocks.begin());
}

bool stream_alignment::is_followed() const
{
    return std::any_of(
        d_clocks.begin(), d_clocks.end(), [](const auto& c) { return c.is_followed(); });
}

void stream_alignment::follow(int port, int64_t item)
{
    if (port != leader() || d_frozen[port])
        return;
    d_leader = port;
    const auto& clock = d_clocks[port];
    if (!clock.is_followed())
        return;
    const int64_t tick = item + clock.offset();
    const double walked = walked_at(tick);
    // Stamps that agree lie half an item or their scatter apart at most, and so do the
    // first one and the mean of others where the clock did not walk.
    const double most = clock.was_followed() ? exact * d_rate : 0.5 + clock.scatter();
    if (std::abs(walked - d_axis.back().walked) > most)
        d_axis.push_back({ std::max({ tick, position(), d_axis.back().tick }),
                           d_origin.after(walked, d_rate),
                           walked });
}

bool stream_alignment::lags(int port, int64_t end) const
{
    return d_rate > 0 && position() - d_timeline.tick_of(port, end) > most_ticks();
}

bool stream_alignment::interrupted(const std::vector<int64_t>& end) const
{
    bool frozen = false, over = false;
    for (size_t port = 0; port < d_frozen.size(); port++) {
        frozen = frozen || d_frozen[port];
        over = over || (d_frozen[port] && d_timeline.needed_from(port) == timeline::none);
        // The one that is not frozen may be at the present time of the other.
        over = over || (!d_frozen[port] && lags(port, end[port]));
    }
    return frozen && over;
}

stream_alignment::resumed stream_alignment::resume(const std::vector<int64_t>& end)
{
    resumed result{ 0, std::vector<std::optional<int64_t>>(d_clocks.size()), {} };
    for (const bool known : { false, true })
        for (size_t port = 0; port < d_clocks.size(); port++)
            if (d_introduced[port] && d_introduced[port]->known == known)
                result.later = result.later + settle(int(port));
    for (size_t port = 0; port < d_clocks.size(); port++)
        compare_corrections(int(port), true);
    const int64_t position = d_timeline.position();
    bool jumped = false; // a port that the loose ones were compared with has jumped
    for (size_t port = 0; port < d_clocks.size(); port++)
        jumped = jumped || (d_frozen[port] && !d_loose[port] && !d_introduced[port]);
    const auto astray = [&](size_t port) {
        return d_loose[port] && !d_introduced[port] && (jumped || d_frozen[port]);
    };
    int64_t start = -never;
    double part = 0; // fraction of a tick by which the stamps of the first item are later
    for (size_t port = 0; port < d_clocks.size(); port++) {
        const auto& clock = d_clocks[port];
        d_resumed[port] =
            d_frozen[port].value_or(std::min(d_timeline.needed_from(port), end[port]));
        if (astray(port) || (!d_frozen[port] && !(clock.knows_time() && clock.trusted())))
            continue;
        const int64_t first = d_resumed[port];
        const int64_t tick =
            d_frozen[port] ? first + clock.offset() : d_timeline.tick_of(port, first);
        if (tick > start) {
            start = tick;
            part = clock.lag(first) - d_axis.back().walked;
        }
    }
    if (start == -never)
        start = position;
    const int64_t shift = position - start;
    const double walked = d_axis.back().walked;
    d_origin = d_origin.after(-double(shift), d_rate).after(part, d_rate);
    d_axis.push_back({ position, d_origin.after(walked, d_rate), walked });
    for (size_t port = 0; port < d_clocks.size(); port++) {
        auto& clock = d_clocks[port];
        clock.set_origin(d_origin, shift);
        d_first_lags[port] = clock.knows_time() ? clock.lag(d_resumed[port]) - walked : 0;
        const int64_t first = d_resumed[port];
        int64_t more = 0;
        if (astray(port)) {
            more = position - (d_frozen[port]
                                   ? first + clock.offset()
                                   : d_timeline.tick_of(int(port), first) + shift);
            clock.move(more);
            result.moved[port] = more;
        }
        d_introduced[port].reset();
        if (d_frozen[port]) {
            d_timeline.clear(port);
            open(port, first, first + clock.offset());
            d_frozen[port].reset();
        } else if (clock.knows_time()) {
            d_timeline.shift(port, shift + more);
        } else {
            wait_for_stamp(int(port), first);
            d_timeline.clear(port);
            d_timeline.pass(port, position);
        }
    }
    result.shift = shift;
    return result;
}

int stream_alignment::hopeless(const std::vector<int64_t>& end) const
{
    for (size_t port = 0; port < d_clocks.size(); port++)
        if (lags(port, end[port]) && end[port] - d_resumed[port] > most_ticks())
            return int(port);
    return -1;
}

int64_t stream_alignment::tags_until(int port, int64_t end) const
{
    // tags that a port which begins anew still has to give hold behind all earlier items
    return d_frozen[port] || !d_waits[port] ? never : d_timeline.known_until(port, end);
}

timeline::run stream_alignment::next(const std::vector<int64_t>& end, int64_t most) const
{
    if (interrupted(end))
        return { 0, std::vector<int64_t>(d_clocks.size(), -1) };
    int64_t until = never;
    for (size_t port = 0; port < d_clocks.size(); port++)
        until = std::min(until, tags_until(int(port), end[port]));
    return d_timeline.next(end, std::min(most, d_timeline.windows_before(until)));
}

void stream_alignment::advance(int64_t windows)
{
    d_timeline.advance(windows);
    while (d_axis.size() > 1 && d_axis[1].tick <= position())
        d_axis.pop_front();
}

int64_t stream_alignment::needed_from(int port) const
{
    return std::min(d_timeline.kept_from(port), readable_until(port));
}

const stream_alignment::axis& stream_alignment::axis_at(int64_t tick) const
{
    size_t i = d_axis.size() - 1;
    while (i > 0 && d_axis[i].tick > tick)
        i--;
    return d_axis[i];
}

const timestamp& stream_alignment::origin_at(int64_t tick) const
{
    return axis_at(tick).origin;
}

timestamp stream_alignment::time_of(double tick) const
{
    const timestamp& origin = origin_at(int64_t(std::floor(tick)));
    return d_rate > 0 ? origin.after(tick, d_rate) : origin;
}

int64_t stream_alignment::corrected_at(int64_t tick) const { return axis_at(tick).tick; }

std::vector<stream_alignment::event> stream_alignment::take_events()
{
    std::vector<event> taken;
    taken.swap(d_events);
    return taken;
}

} // namespace gr::aperture
