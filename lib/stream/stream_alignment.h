/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_STREAM_ALIGNMENT_H
#define INCLUDED_APERTURE_STREAM_STREAM_ALIGNMENT_H

#include "stream/stream_clock.h"
#include "stream/timeline.h"
#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

namespace gr::aperture {

/*!
 * Aligns several streams of one rate by their stamps: it has a clock for each port, which
 * gives the place of the port's items on the common time line, and the time of the ticks
 * of that.
 *
 * Where a clock jumps further than the longest gap that may be filled, the alignment
 * begins anew: see interrupted().
 */
class stream_alignment
{
public:
    //! \param window, hop as those of timeline
    stream_alignment(int ports, int64_t window, int64_t hop);

    struct event {
        enum class kind {
            gap,
            overlap,
            odd_stamp,
            first_stamp,
            no_stamp,
            drift,      //!< the stamps walk by `slope` and are not to be followed
            new_start,  //!< a jump of `count` items: the alignment begins anew
            early_start //!< `count` items lie before the first one that all ports have
        } what;
        int port;
        int64_t item, count;
        double slope = 0; //!< ticks a tick
    };

    void reset();
    //! Sets whose clock the stamps of a port are, from the next one on.
    void set_source(int port, stream_clock::source s) { d_clocks[port].set_source(s); }
    //! Returns whether the time follows the stamps of a port.
    bool is_followed() const;
    /*!
     * Begins with the first items of all ports.
     * \param times time of each port's item 0, where it is known
     * \param start time of tick 0
     * \param rate items a second; 0: not known, then stamps mean nothing
     * \param most_gap seconds that are filled with missing items at most
     * \param anew_where_restated a restated stamp that jumps begins the alignment anew
     */
    void begin(const std::vector<std::optional<timestamp>>& times,
               const timestamp& start,
               double rate,
               double most_gap,
               bool anew_where_restated = false);
    //! Leaves a port without a place missing until introduce(); for before begin().
    void leave_unplaced(int port) { d_unplaced[port] = true; }
    bool is_unplaced(int port) const { return d_unplaced[port]; }
    //! Sets the rate, where it comes later than the first items.
    void set_rate(double rate);
    //! Returns whether any port had a stamp.
    bool knows_time() const { return d_time_known; }

    //! Takes a stamp of a port, in the order of its items, not behind readable_until().
    void stamp(int port, int64_t item, const timestamp& time, bool restated);
    /*!
     * Introduces the time of a port that had none, or that counts from elsewhere than
     * before: the alignment begins anew at the item.
     * \param known whether other ports know the time, and the port is placed by it; if
     * not, all stay where they are, and the time holds for all
     * \returns false if other ports know the time, and it is further from theirs than the
     * longest gap: then nothing is changed
     */
    bool introduce(int port, int64_t item, const timestamp& time, bool known);
    //! Sets whether only a comparison of samples places the port: see resume().
    void set_loose(int port, bool loose) { d_loose[port] = loose; }
    //! Takes a loss of unknown length before an item.
    void loss(int port, int64_t item);
    //! Allows no window across the beginning of an item.
    void boundary(int port, int64_t item);
    //! Takes `count` items from one on as filled in by their sender, who had not received
    //! them. With count 0 none is, but no window may lie across the beginning of the
    //! item.
    void filled(int port, int64_t item, int64_t count);
    //! Moves a port so many ticks later, from the next window on. Its stamps are as much
    //! too early from now on.
    //! \param readable first item of the port that can still be read
    void move(int port, int64_t ticks, int64_t readable);
    //! Returns how much later a port is at a tick by its stamps than its place, in ticks.
    double lag(int port, int64_t tick) const;
    //! Returns whether a port has its place by stamps that are trusted.
    bool is_timed(int port) const
    {
        return d_clocks[port].knows_time() && d_clocks[port].trusted() && !d_frozen[port];
    }
    //! Returns how far stamps of a port that agree may lie apart, in ticks.
    double scatter(int port) const { return d_clocks[port].scatter(); }
    //! Returns the item of a port at a tick by its newest place.
    int64_t item_at(int port, int64_t tick) const
    {
        return std::max<int64_t>(0, tick - d_clocks[port].offset());
    }
    //! Takes all tags of items before this one as read.
    void reached(int port, int64_t item);
    //! Sets whether next() waits for tags of a port, except those that can never come.
    void wait_for_tags(int port, bool wait) { d_waits[port] = wait; }

    //! Returns the item of a port from which on tags may be read after resume() only.
    int64_t readable_until(int port) const { return d_frozen[port].value_or(never); }
    /*!
     * Returns whether a jump is too long to be filled, and there are no more windows
     * before it: unfinished items must be ended, and then resume() be called.
     */
    bool interrupted(const std::vector<int64_t>& end) const;
    struct resumed {
        int64_t shift; //!< ticks by which all items of one time moved
        //! Ticks by which each loose port moved beyond that, if it, or one beside it,
        //! jumped: it then begins where the others begin.
        std::vector<std::optional<int64_t>> moved;
        timestamp later; //!< shift by which all times are later now
    };
    //! Aligns the ports anew. The next window stays at the position.
    resumed resume(const std::vector<int64_t>& end);
    //! Returns a port that lags behind the others by more than the longest gap, and still
    //! did after as much of it had been dropped; or -1.
    int hopeless(const std::vector<int64_t>& end) const;

    /*!
     * Returns the next run. A tag on an item holds for the windows from its tick on: no
     * window is given before all tags of a port up to the window's tick have been read,
     * even if the port is read so much earlier than the others that its items are there.
     */
    timeline::run next(const std::vector<int64_t>& end, int64_t most) const;
    //! Returns whether more tags of a port may hold for the next window, as far as items
    //! to before `end` tell.
    bool awaits_tags(int port, int64_t end) const
    {
        return tags_until(port, end) <= position();
    }
    //! Return what the functions of timeline do.
    int64_t known_until(int port, int64_t end) const
    {
        return d_timeline.known_until(port, end);
    }
    int64_t next_known(int port) const { return d_timeline.next_known(port); }
    void advance(int64_t windows);
    int64_t position() const { return d_timeline.position(); }
    void set_position(int64_t tick) { d_timeline.set_position(tick); }
    int64_t tick_of(int port, int64_t item) const
    {
        return d_timeline.tick_of(port, item);
    }
    bool next_is_missing(int port) const { return d_timeline.next_is_missing(port); }
    //! Returns the first item of the port that the next window or a later one can read,
    //! or whose tags are still to be read; timeline::none if there is none.
    int64_t needed_from(int port) const;
    //! Returns what timeline::next_end() does.
    int64_t next_end(int port) const { return d_timeline.next_end(port); }
    void release() { d_timeline.release(); }
    void set_kept(int64_t items) { d_timeline.set_kept(items); }
    void set_reach(int port, const timeline::reach& r) { d_timeline.set_reach(port, r); }
    const timeline::reach& reach_of(int port) const { return d_timeline.reach_of(port); }

    //! Returns the time of tick 0 by the clock that runs at a tick.
    const timestamp& origin_at(int64_t tick) const;
    timestamp time_of(double tick) const;
    //! Returns the tick of the newest correction of the time at or before a tick.
    int64_t corrected_at(int64_t tick) const;

    std::vector<event> take_events();

private:
    static constexpr int64_t never = timeline::none;

    //! Returns the first tick for which tags of a port may still come.
    int64_t tags_until(int port, int64_t end) const;

    //! The time of all streams from a tick on.
    struct axis {
        int64_t tick;
        timestamp origin; // time of tick 0
        double walked;    // ticks, from the origin that the clocks know
    };

    //! A stamp that a block before has followed.
    struct correction {
        int64_t item;
        timestamp time;
    };

    struct introduction {
        timestamp time;
        bool known;
    };

    //! Closes a port that does not know the time until a stamp, where others know it.
    void wait_for_stamp(int port, int64_t item);
    //! Applies introduce(). \returns resumed::later
    timestamp settle(int port);
    //! Opens a port as timeline::open() does, except for items that were filled in.
    void open(int port, int64_t item, int64_t tick);
    //! Returns whether a port's items are behind the position by more than the longest
    //! gap.
    bool lags(int port, int64_t end) const;
    const axis& axis_at(int64_t tick) const;
    //! Returns how far the leading clock has walked at a tick, in ticks.
    double walked_at(int64_t tick) const;
    void apply(int port, const stream_clock::outcomes& outcomes, bool restated = false);
    void apply(int port, const stream_clock::outcome& outcome, bool anew);
    void follow(int port, int64_t item);
    //! Returns the lowest port whose clock is confirmed by stamps, and whose time is that
    //! of all; or the number of ports.
    int leader() const;
    //! Compares stamps that were followed before with the time of all, as far as this was
    //! read, or all of them.
    void compare_corrections(int port, bool all);
    //! Takes the first stamp of all, which sets the time of all ports.
    void set_time(int port, int64_t item, const timestamp& time, int64_t moved);
    double most_ticks() const { return d_most_gap * d_rate; }

    timeline d_timeline;
    std::vector<stream_clock> d_clocks;
    //! The lag of each port at its first stamp, in ticks, less the walk of the time: it
    //! has walked by any further lag since then.
    std::vector<double> d_first_lags;
    std::vector<std::optional<int64_t>> d_frozen; // item at which a port begins anew
    std::vector<char> d_loose, d_waits;           // flags of each port
    std::vector<char> d_unplaced;                 // flag of each port
    std::vector<std::optional<introduction>> d_introduced; // until resume()
    std::vector<int64_t> d_resumed; // item of each port at resume()
    std::vector<int64_t> d_filled;  // item up to which a port was filled in
    std::vector<std::deque<correction>> d_corrections; // not compared so far
    std::vector<int64_t> d_reached; // item up to which each port's tags were read
    timestamp d_origin;             // origin of the clocks
    std::deque<axis> d_axis;
    int d_leader = -1;
    bool d_time_known = false, d_anew_where_restated = false;
    double d_rate = 0, d_most_gap = 0;
    std::vector<event> d_events;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_STREAM_ALIGNMENT_H */
