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
#include <limits>
#include <vector>

namespace gr::aperture {

/*!
 * Which items of several ports belong together.
 *
 * All ports share one count of time, the tick: one item long, 0 at the first moment that
 * all ports have seen. A port's items lie on it in segments: between two of them items
 * were lost, are not trusted, or were there before. Segments follow each other in items;
 * in ticks they may overlap where items came again, and then the earlier one holds a
 * window that both could: every window is read once. Work is done in
 * windows of some items, one window a step, on all ports at once. A window that lies
 * within one segment of a port can be read there in one piece; any other window is
 * missing on that port.
 *
 * A port may be read earlier or later than the others, as its inputs are delayed: what it
 * is read by for a window is the window's reach.
 */
class timeline
{
public:
    //! \param window items under a window; \param step items from one window to the next
    timeline(int ports, int64_t window, int64_t step);

    //! Forgets everything but what is kept. The ports are closed.
    void reset();

    //! Items that stay readable before the next window, of all ports, for a later reach.
    void set_kept(int64_t items) { d_kept = items; }
    //! For a window at tick t a port is read from t - before to t + window + after.
    //! Either may be negative, of no more than set_kept() items.
    struct reach {
        int64_t before = 0, after = 0;
        bool usable = true; //!< false: the port is missing
    };
    void set_reach(int port, const reach& r) { d_reach[port] = r; }
    const reach& reach_of(int port) const { return d_reach[port]; }

    /*!
     * From `item` on, the items of a port lie at `tick` and behind, until close().
     * What lies before the end of the segments that are there came again: it makes those
     * windows whole that the segments before do not hold. What lies before a tick that
     * was passed, or before the beginning of a segment, is left out, as windows up to
     * there may be missing already. \returns how many items were there before
     */
    int64_t open(int port, int64_t item, int64_t tick);
    //! Items of the port have a place, as far as it is known.
    bool is_open(int port) const;
    //! From `item` on, the items of a port have no place, until open().
    void close(int port, int64_t item);
    //! A port is closed, and no item that is still to come lies before a tick, nor before
    //! the end of its segments.
    void pass(int port, int64_t tick);
    //! Forgets the segments of a port.
    void clear(int port);
    //! Moves all segments of a port.
    void shift(int port, int64_t ticks);
    //! What lies before an item of a port is there no more.
    void forget_before(int port, int64_t item);

    //! Tick of an item by the last segment of the port that begins at or before it.
    int64_t tick_of(int port, int64_t item) const;
    //! Tick before which no further segment of the port can begin.
    int64_t end_of(int port) const;
    //! Tick up to which it is known what there is of a port, of items to before `end`.
    int64_t known_until(int port, int64_t end) const;
    //! Behind the item of the port that lies at the next window's tick, or none if no
    //! item that is still to come is known to lie there.
    int64_t next_known(int port) const;

    //! Tick at which the next window starts.
    int64_t position() const { return d_position; }
    void set_position(int64_t tick) { d_position = tick; }

    //! Windows in a row for which each port stays either readable or missing.
    struct run {
        int64_t windows;
        //! of what is read of each port for the first window; -1: missing
        std::vector<int64_t> first_item;
    };
    //! The next run. `end`: on each port, the item behind the last one that is there.
    run next(const std::vector<int64_t>& end, int64_t most) const;
    //! How many windows in a row begin before a tick.
    int64_t windows_before(int64_t tick) const
    {
        return tick <= d_position ? 0 : (tick - d_position - 1) / d_step + 1;
    }
    //! Goes on by so many windows.
    void advance(int64_t windows);

    //! No window needs what is there of a port.
    static constexpr int64_t none = std::numeric_limits<int64_t>::max() / 2;
    //! First item of the port under the next window, or a later one, that is not missing,
    //! or none. By reach it may be read from an earlier one, or a later one, on.
    int64_t needed_from(int port) const;
    //! First item of the port that the next window or a later one can come to read, by
    //! whatever reach, or none. Before it, release() is to be called.
    int64_t kept_from(int port) const;
    //! Gives up what is left of segments of which, by the present reach, no window is
    //! made any more, though another one could: what is kept of them would fill an input
    //! buffer that has to take up what comes behind.
    void release();
    //! Behind the last item of the port that the next window reads, or none if what there
    //! is does not hold it.
    int64_t next_end(int port) const;
    //! The next window is missing on this port, whatever comes.
    bool next_is_missing(int port) const;

private:
    //! Items from `item` to before `end` (none: open) lie at `tick` and behind. Those
    //! from `from` to `item` would lie before it, where others are.
    struct segment {
        int64_t from, item, end, tick;

        int64_t end_tick() const { return end == none ? none : tick + end - item; }
    };

    //! Tick of the first window that is still to come and lies within a segment, or none.
    int64_t next_window(int port, const segment& s) const;
    //! The segment that holds the window at a tick, or nullptr.
    const segment* holder(int port, int64_t tick) const;
    //! Where the next window that is not missing can begin at the earliest, if none is
    //! held at the position.
    int64_t missing_until(int port) const;

    const int64_t d_window, d_step;
    int64_t d_kept = 0;
    std::vector<reach> d_reach;
    int64_t d_position = 0;
    std::vector<std::deque<segment>> d_segments;
    std::vector<int64_t> d_passed;  // of each port, see pass()
    std::vector<int64_t> d_covered; // of each port: the end of all segments, in ticks
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_TIMELINE_H */
