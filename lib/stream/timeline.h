/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_TIMELINE_H
#define INCLUDED_APERTURE_STREAM_TIMELINE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace gr::aperture {

/*!
 * Which items of several ports belong together.
 *
 * All ports share one count of time, the tick: one item long, 0 at the first moment that
 * all ports have seen. A port's items lie on it in segments; between two of them items
 * were lost. Work is done in windows of some items, one window a step, on all ports at
 * once. A window that lies within one segment of a port can be read there in one piece;
 * any other window is missing on that port.
 */
class timeline
{
public:
    //! \param window items under a window; \param step items from one window to the next
    timeline(int ports, int64_t window, int64_t step);

    //! Forgets everything.
    void reset();

    //! From `item` on, the items of a port lie at `tick` and behind. Items in order.
    void add_segment(int port, int64_t item, int64_t tick);
    //! Tick of an item by the last segment of the port that begins at or before it.
    int64_t tick_of(int port, int64_t item) const;

    //! Tick at which the next window starts.
    int64_t position() const { return d_position; }
    void set_position(int64_t tick) { d_position = tick; }

    //! Windows in a row for which each port stays either readable or missing.
    struct run {
        int64_t windows;
        std::vector<int64_t>
            first_item; //!< of the first window on each port; -1: missing
    };
    //! The next run. `end`: on each port, the item behind the last one that is there.
    run next(const std::vector<int64_t>& end, int64_t most) const;
    //! Goes on by so many windows.
    void advance(int64_t windows);

    //! First item of the port that the next window or a later one needs.
    int64_t needed_from(int port) const;
    //! The next window is missing on this port, whatever comes.
    bool next_is_missing(int port) const;

private:
    struct segment {
        int64_t item, tick;
    };

    //! Where the segment ends if another one follows; else far away.
    int64_t end_tick(int port, size_t index) const;
    //! Index of the segment that holds the window at a tick, or -1.
    int holder(int port, int64_t tick) const;

    const int64_t d_window, d_step;
    int64_t d_position = 0;
    std::vector<std::deque<segment>> d_segments;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_TIMELINE_H */
