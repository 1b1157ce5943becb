/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_TICK_STATES_H
#define INCLUDED_APERTURE_STREAM_TICK_STATES_H

#include <gnuradio/aperture/stream_states.h>
#include <cstdint>
#include <deque>
#include <functional>

namespace gr::aperture {

/*!
 * The states of a stream on the time line of a clocked_block, whose tags are read further
 * than its items: which states hold at each tick from the present one on.
 */
class tick_states
{
public:
    //! \param goes_on whether items follow on those before, as after lock() and unlock():
    //! then what was said last holds for the first of them
    void start(bool goes_on)
    {
        if (!goes_on)
            d_states.forget();
        d_steps = { { 0, d_states.said() } };
    }

    //! Takes a tag of the item at a tick, in the order of the items. \returns whether it
    //! is a state
    bool take(int64_t tick, const gr::tag_t& tag)
    {
        if (!pmt::is_symbol(tag.key) ||
            !stream_states::is_state(pmt::symbol_to_string(tag.key)))
            return false;
        d_states.take(tag);
        if (d_steps.back().first != tick)
            d_steps.push_back({ tick, {} });
        d_steps.back().second = d_states.said();
        return true;
    }

    //! Makes all items lie so many ticks later.
    void shift(int64_t ticks)
    {
        for (auto& step : d_steps)
            step.first += ticks;
    }

    //! Visits the ticks from `first` to before `end` in pieces in which nothing changes,
    //! and forgets what holds only for ticks before.
    void
    each(int64_t first,
         int64_t end,
         const std::function<void(
             int64_t first, int64_t end, const stream_states::values& states)>& visit)
    {
        while (d_steps.size() > 1 && d_steps[1].first <= first)
            d_steps.pop_front();
        for (size_t i = 0; i < d_steps.size() && first < end; i++) {
            const int64_t until =
                i + 1 < d_steps.size() ? std::min(d_steps[i + 1].first, end) : end;
            if (until <= first)
                continue;
            visit(first, until, d_steps[i].second);
            first = until;
        }
    }

private:
    stream_states d_states;
    std::deque<std::pair<int64_t, stream_states::values>> d_steps{ {} };
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_TICK_STATES_H */
