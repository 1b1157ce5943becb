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
 * Tells which items of several ports belong together.
 *
 * All ports share one count of time, the tick: one item long, 0 at the first moment that
 * all ports have seen. A port's items lie on it in segments: between two of them items
 * were lost, are not trusted, or were there before. Segments follow each other in items;
 * in ticks they may overlap where items came again, and then the earlier one holds a
 * window that both could: every window is read once. Work is done in windows of some
 * items, one window each hop, on all ports at once. A window that lies within one segment
 * of a port can be read there in a row; any other window is missing on that port.
 *
 * A port may be read earlier or later than the others, as its inputs are delayed: how far
 * is the window's reach.
 */
class timeline
{
public:
    //! \param window items under a window
    //! \param hop items from one window to the next
    timeline(int ports, int64_t window, int64_t hop);

    //! Forgets everything but set_kept(), and closes the ports.
    void reset();

    //! Sets how many items of all ports stay readable for a later reach.
    void set_kept(int64_t items) { d_kept = items; }
    //! The range in which a port is read for a window at tick t: from t - before to t +
    //! window + after. Either may be negative, and at most what set_kept() says.
    struct reach {
        int64_t before = 0, after = 0;
        bool usable = true; //!< false: the port is missing
    };
    void set_reach(int port, const reach& r) { d_reach[port] = r; }
    const reach& reach_of(int port) const { return d_reach[port]; }

    /*!
     * Opens a segment: from `item` on, the items of a port lie at `tick` and behind,
     * until close(). Items before the end of the earlier segments came again: they
     * complete windows that those segments do not hold. Items before a tick that was
     * passed, or before the beginning of a segment, are left out, as windows up to there
     * may be missing already. \returns how many items were there before
     */
    int64_t open(int port, int64_t item, int64_t tick);
    //! Returns whether items of the port have a place, as far as known.
    bool is_open(int port) const;
    //! Closes the segment: items of a port from `item` on have no place, until open().
    void close(int port, int64_t item);
    //! Tells that no item that is still to come on a closed port lies before a tick, nor
    //! before the end of its segments.
    void pass(int port, int64_t tick);
    //! Forgets the segments of a port.
    void clear(int port);
    //! Moves all segments of a port.
    void shift(int port, int64_t ticks);
    //! Forgets the items of a port before one, which cannot be read any more.
    void forget_before(int port, int64_t item);

    //! Returns the tick of an item by the port's last segment that begins before it.
    int64_t tick_of(int port, int64_t item) const;
    //! Returns the tick before which no further segment of the port can begin.
    int64_t end_of(int port) const;
    //! Returns the tick up to which a port's segments are known, with items before `end`.
    int64_t known_until(int port, int64_t end) const;
    //! Returns the item behind the one of the port that lies at the next window's tick,
    //! or none if no item that is still to come is known to lie there.
    int64_t next_known(int port) const;

    //! Returns the tick at which the next window starts.
    int64_t position() const { return d_position; }
    void set_position(int64_t tick) { d_position = tick; }

    //! Windows in a row for which each port stays either readable or missing.
    struct run {
        int64_t windows;
        //! First item that is read of each port for the first window; -1: missing.
        std::vector<int64_t> first_item;
    };
    //! Returns the next run.
    //! \param end item behind the last one of each port
    run next(const std::vector<int64_t>& end, int64_t most) const;
    //! Returns how many windows in a row begin before a tick.
    int64_t windows_before(int64_t tick) const
    {
        return tick <= d_position ? 0 : (tick - d_position - 1) / d_hop + 1;
    }
    //! Advances by so many windows.
    void advance(int64_t windows);

    //! Value for no item: no window needs any that is there.
    static constexpr int64_t none = std::numeric_limits<int64_t>::max() / 2;
    //! Returns the first item of the port under the next window, or a later one, that is
    //! not missing, or none. By reach it may be read from an earlier one, or a later one,
    //! on.
    int64_t needed_from(int port) const;
    //! Returns the first item of the port that the next window or a later one can read,
    //! by whatever reach, or none. Call release() before it.
    int64_t kept_from(int port) const;
    //! Drops the rest of segments that, by the present reach, hold no more windows,
    //! though another reach would let them: kept items would fill an input buffer that
    //! has to take later ones.
    void release();
    //! Returns the item behind the last one of the port that the next window reads, or
    //! none if the segments do not hold it.
    int64_t next_end(int port) const;
    //! Returns whether the next window is missing on this port, whatever comes.
    bool next_is_missing(int port) const;

private:
    //! A segment: items from `item` to before `end` (none: open) lie at `tick` and
    //! behind. Items from `from` to `item` would lie before it, where others are.
    struct segment {
        int64_t from, item, end, tick;

        int64_t end_tick() const { return end == none ? none : tick + end - item; }
    };

    //! Returns the tick of the first later window within a segment, or none.
    int64_t next_window(int port, const segment& s) const;
    //! Returns the segment that holds the window at a tick, or nullptr.
    const segment* holder(int port, int64_t tick) const;
    //! Returns the earliest tick of the next held window, if the present one is not.
    int64_t missing_until(int port) const;

    const int64_t d_window, d_hop;
    int64_t d_kept = 0;
    std::vector<reach> d_reach;
    int64_t d_position = 0;
    std::vector<std::deque<segment>> d_segments;
    std::vector<int64_t> d_passed;  // tick of pass() of each port
    std::vector<int64_t> d_covered; // end of all segments of each port, in ticks
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_TIMELINE_H */
