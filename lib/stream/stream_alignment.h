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
#include <deque>
#include <optional>
#include <vector>

namespace gr::aperture {

/*!
 * Lines several streams of one rate up by their stamps: a clock for each port, which says
 * where the items of the port lie on the common time line, and the time of its ticks.
 *
 * Where a clock jumps further than the longest gap that may be filled, the alignment
 * begins anew: see interrupted().
 */
class stream_alignment
{
public:
    //! \param window, step as of timeline
    stream_alignment(int ports, int64_t window, int64_t step);

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
    //! Whose clock the stamps of a port are, from the next one on.
    void set_source(int port, stream_clock::source s) { d_clocks[port].set_source(s); }
    //! The time follows the stamps of a port.
    bool is_followed() const;
    /*!
     * The first items of all ports.
     * \param times of each port's item 0, where it is known
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
    //! Before begin(): nobody knows where a port lies, and it is missing until
    //! introduce().
    void leave_unplaced(int port) { d_unplaced[port] = true; }
    bool is_unplaced(int port) const { return d_unplaced[port]; }
    //! The rate is said later.
    void set_rate(double rate);
    //! A stamp was seen on any port.
    bool knows_time() const { return d_time_known; }

    //! What tags say, in the order of a port's items. Not behind readable_until().
    void stamp(int port, int64_t item, const timestamp& time, bool restated);
    /*!
     * A port says for the first time when its items were received, or counts from
     * elsewhere than before: the alignment begins anew at the item.
     * \param known other ports know the time, and the port is put beside them; else all
     * stay where they are, and the time holds for all
     * \returns false if they know it, and it is further from theirs than the longest gap:
     * then nothing is changed
     */
    bool introduce(int port, int64_t item, const timestamp& time, bool known);
    //! Nobody knows where the port lies but by comparing the samples: see resume().
    void set_loose(int port, bool loose) { d_loose[port] = loose; }
    //! A loss of unknown length before an item.
    void loss(int port, int64_t item);
    //! No window may lie across the beginning of an item.
    void boundary(int port, int64_t item);
    //! `count` items from one on are not what was received: whoever sent them filled a
    //! gap. With count 0 none is, but no window may lie across the beginning of the item.
    void filled(int port, int64_t item, int64_t count);
    //! It has turned out that a port lies so many ticks later, from the next window on.
    //! Its stamps are as much too early from now on. \param readable its first item that
    //! can still be read
    void move(int port, int64_t ticks, int64_t readable);
    //! How much later a port is at a tick by its stamps than by where it lies, in ticks.
    double lag(int port, int64_t tick) const;
    //! All tags of items before this one have been read.
    void reached(int port, int64_t item);
    //! Whether next() waits for tags of a port; not for those that can never come.
    void wait_for_tags(int port, bool wait) { d_waits[port] = wait; }

    //! Tags of a port from this item on may be read after resume() only.
    int64_t readable_until(int port) const { return d_frozen[port].value_or(never); }
    /*!
     * A jump is too long to be filled, and no window before it can be had any more: what
     * is unfinished must be ended, then resume() be called.
     */
    bool interrupted(const std::vector<int64_t>& end) const;
    struct resumed {
        int64_t shift; //!< ticks by which what lies at one time moved
        //! Loose ports that jumped, or whose company did, begin where the others begin:
        //! by how many ticks more each of them moved.
        std::vector<std::optional<int64_t>> moved;
        timestamp later; //!< by how much all times that are held are later now
    };
    //! Lines the ports up anew. The next window stays at the position.
    resumed resume(const std::vector<int64_t>& end);
    //! A port that lags behind the others by more than the longest gap, and still did
    //! when as much of it had been let go of; or -1.
    int hopeless(const std::vector<int64_t>& end) const;

    /*!
     * The next run. What tags say of an item holds for the windows from its tick on: no
     * window is given before all tags of a port up to the window's tick have been read,
     * even if the port is read so much earlier than the others that its items are there.
     */
    timeline::run next(const std::vector<int64_t>& end, int64_t most) const;
    //! More tags of a port may hold for the next window, as far as items to before `end`
    //! tell.
    bool awaits_tags(int port, int64_t end) const
    {
        return tags_until(port, end) <= position();
    }
    //! As of timeline, both.
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
    //! First item of the port that the next window or a later one can come to read, or
    //! whose tags are still to be read; timeline::none
    int64_t needed_from(int port) const;
    //! As of timeline.
    int64_t next_end(int port) const { return d_timeline.next_end(port); }
    void release() { d_timeline.release(); }
    void set_kept(int64_t items) { d_timeline.set_kept(items); }
    void set_reach(int port, const timeline::reach& r) { d_timeline.set_reach(port, r); }
    const timeline::reach& reach_of(int port) const { return d_timeline.reach_of(port); }

    //! When tick 0 would have been by the clock that runs at a tick.
    const timestamp& origin_at(int64_t tick) const;
    timestamp time_of(double tick) const;
    //! The tick of the newest correction of the time at or before a tick.
    int64_t corrected_at(int64_t tick) const;

    std::vector<event> take_events();

private:
    static constexpr int64_t never = timeline::none;

    //! The first tick for which tags of a port may still come.
    int64_t tags_until(int port, int64_t end) const;

    //! The time of all streams from a tick on.
    struct axis {
        int64_t tick;
        timestamp origin; // of tick 0
        double walked;    // ticks, from the origin that the clocks know
    };

    //! A stamp of a clock that was followed before.
    struct correction {
        int64_t item;
        timestamp time;
    };

    struct introduction {
        timestamp time;
        bool known;
    };

    //! Of a port that does not know the time, where others do: closed until a stamp.
    void wait_for_stamp(int port, int64_t item);
    //! What introduce() said holds. \returns as resumed::later
    timestamp settle(int port);
    //! timeline::open(), but for items that were filled in.
    void open(int port, int64_t item, int64_t tick);
    //! The items of a port lie before the position by more than the longest gap.
    bool lags(int port, int64_t end) const;
    const axis& axis_at(int64_t tick) const;
    //! What the clock that leads says now, in ticks.
    double walked_at(int64_t tick) const;
    void apply(int port, const stream_clock::outcomes& outcomes, bool restated = false);
    void apply(int port, const stream_clock::outcome& outcome, bool anew);
    void follow(int port, int64_t item);
    //! The lowest port whose clock stamps have confirmed, whose time is that of all; or
    //! one that is not there.
    int leader() const;
    //! Compares what was followed before with the time of all, as far as this was read,
    //! or all of it.
    void compare_corrections(int port, bool all);
    //! The first stamp of all: it sets the time of all ports.
    void set_time(int port, int64_t item, const timestamp& time, int64_t moved);
    double most_ticks() const { return d_most_gap * d_rate; }

    timeline d_timeline;
    std::vector<stream_clock> d_clocks;
    //! Of each port, in ticks, at its first stamp, less what the time had walked: what it
    //! lags more by has walked since then.
    std::vector<double> d_first_lags;
    std::vector<std::optional<int64_t>> d_frozen; // item at which a port begins anew
    std::vector<char> d_loose, d_waits;           // of each port
    std::vector<char> d_unplaced;                 // likewise
    std::vector<std::optional<introduction>> d_introduced; // until resume()
    std::vector<int64_t> d_resumed; // item of each port at resume()
    std::vector<int64_t> d_filled;  // item up to which a port was filled in
    std::vector<std::deque<correction>> d_corrections; // not compared so far
    std::vector<int64_t> d_reached;                    // item
    timestamp d_origin;                                // of the clocks
    std::deque<axis> d_axis;
    int d_leader = -1;
    bool d_time_known = false, d_anew_where_restated = false;
    double d_rate = 0, d_most_gap = 0;
    std::vector<event> d_events;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_STREAM_ALIGNMENT_H */
