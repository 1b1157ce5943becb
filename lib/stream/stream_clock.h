/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_STREAM_CLOCK_H
#define INCLUDED_APERTURE_STREAM_STREAM_CLOCK_H

#include "stream/timestamp.h"
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace gr::aperture {

/*!
 * The clock of one stream of items, with a memory.
 *
 * It takes stamps (an item and its time) and gives the tick of an item: tick n is n /
 * rate seconds behind the origin, and item + offset() is the tick of an item. A stamp
 * that agrees with the clock, within the stamps' resolution and the scatter seen so far,
 * moves nothing but the mean of the stamps, which is followed slowly.
 *
 * One that disagrees is a jump. Where stamps come at losses only, nothing will ever
 * confirm it: it is believed at once. Where the clock has seen stamps that agree with it,
 * more will come: the jump is on probation, and the stream closed, until a further stamp
 * agrees with it, or with the clock before, or until none came for four times the
 * interval between the last stamps before.
 *
 * Stamps may walk away from the items. A walk through whole items is losses, however
 * regular. A walk through fractions of items, or by less at a time than the stamps
 * resolve, shows another clock than the one that takes the items, or a rate that is named
 * wrongly. Where that clock is not to be followed, the place of the items is then
 * unknown: the stream is closed until the walk has ended.
 */
class stream_clock
{
public:
    enum class event {
        none,
        gap,         //!< `count` items were lost before `item`
        overlap,     //!< `count` items from `item` on were there before
        odd_stamp,   //!< the stamp at `item` was wrong; `count` items are not trusted
        first_stamp, //!< the first one came at `item` and moved it by `count` items
        no_stamp,    //!< none came up to `item`
        drift        //!< the stamps walk by `slope`, and are not to be followed
    };
    //! The clock of the stamps.
    enum class source {
        items,   //!< the clock of the items, which counts them
        another, //!< one that may walk away from the items, and is followed
        //! A clock that the sender of the items has followed: each stamp says when its
        //! item was received, and only one that restates the rate tells of a jump.
        followed
    };
    struct outcome {
        event what = event::none;
        int64_t item = 0, count = 0;
        double slope = 0; //!< ticks a tick by which the stamps are later, of `drift`
        std::optional<int64_t> closed; //!< no item from this one on is trusted ...
        std::optional<int64_t> opened; //!< ... to before this one, which lies at
        int64_t offset = 0;            //!< opened + offset
    };
    using outcomes = std::vector<outcome>;

    //! The walk of the time of all streams from the origin's, in ticks.
    struct walk {
        double decided = 0; //!< walk that was reported last
        double now = 0;     //!< walk of the leading clock, as far as it was read
        bool leads = false; //!< this clock leads: the time follows it
    };

    void set_source(source s) { d_source = s; }
    //! Returns whether the time follows the stamps where they walk away from the items.
    bool is_followed() const { return d_source != source::items; }
    bool was_followed() const { return d_source == source::followed; }

    //! Forgets everything but the source.
    //! \param rate items a second
    void begin(const timestamp& origin, double rate);
    //! Closes the stream from an item on for so many items, unless a stamp comes: other
    //! streams know the time, and this one does not.
    void wait(int64_t item, int64_t items);

    /*!
     * Takes a stamp.
     * \param restated whether the source also tagged its rate, as sources do that begin
     * anew. Intervals of such stamps and of others are remembered apart.
     */
    outcomes
    stamp(int64_t item, const timestamp& time, bool restated, const walk& walked);
    //! Takes a loss of unknown length before an item. It waits for a stamp where stamps
    //! are usual.
    //! \param decided as in walk
    outcomes doubt(int64_t item, double decided);
    //! Takes all stamps of items before this one as read.
    outcomes reached(int64_t item, double decided);

    //! Makes ticks count from another origin; all offsets grow by `ticks`.
    void set_origin(const timestamp& origin, int64_t ticks);

    //! Changes all times, of the stamps and the origin: items keep their ticks.
    void set_time(const timestamp& origin);

    //! Forgets all stamps, but not where the items lie.
    void forget_stamps();

    //! Moves all stamps later, by so many ticks: their times were too early.
    void move(int64_t ticks);

    //! Returns whether there was a stamp.
    bool knows_time() const { return d_knows; }
    //! Returns whether the next items are trusted.
    bool trusted() const { return d_state == state::trusted; }
    //! Returns whether stamps have confirmed the clock.
    bool confirmed() const { return d_confirmed[0] >= 2 || d_confirmed[1] >= 2; }
    int64_t offset() const { return d_offset; }
    //! Returns how much later an item is by the stamps than by the offset, in ticks.
    double lag(int64_t item) const
    {
        return d_state == state::astray ? d_anchor - d_offset
               : d_knows                ? expected(item) - d_offset
                                        : 0;
    }
    //! Returns how far stamps that agree may lie apart, in ticks.
    double scatter() const;

private:
    enum class state { trusted, waiting, doubt, probation, astray };
    struct point {
        int64_t item;
        timestamp time;
        double offset; // offset by the stamp
    };
    struct line {
        double slope, scatter;
        int64_t centre; // item
        double level;   // offset at the centre
    };

    double offset_of(int64_t item, const timestamp& time) const;
    //! Returns the offset of an item by the stamps that agree.
    double expected(int64_t item) const;
    double tolerance() const;
    //! Returns the largest scatter, in ticks, of stamps that agree about their mean.
    double peak() const;
    //! Returns the ticks that stamps are rounded to, by a grid with so many bits of
    //! evidence; with 0 also by one that may be chance.
    double rounding(double evidence) const;
    //! Fits a line through stamps.
    static line fit(const std::deque<point>& points);
    //! Returns whether the stamps walk as no losses do: through fractions of items, or by
    //! less from one to the next than they resolve.
    bool walks_finely(const std::deque<point>& points, const line& l) const;
    //! Returns the line on which a clock walks, if a stamp continues one of those before
    //! that were taken for small jumps.
    std::optional<line> line_through(const std::deque<point>& before,
                                     const point& p) const;
    //! Returns the walk per tick of the clock, if it walks along the stamps that agree,
    //! or has walked away from the first of them.
    std::optional<double> walk_of_points() const;
    void note_resolution(int64_t item, const timestamp& time);
    void remember(const point& p);
    void confirm(const point& p, bool restated);
    void jump(const std::deque<point>& agreed, int64_t count);
    //! Returns the items by which the stream jumped if it lies where a point says.
    int64_t jump_to(const point& p, double decided) const;
    int64_t patience() const;
    //! Counts the items of a jump.
    static void describe(outcome& o, int64_t jump);
    outcomes judge(const point& p, bool restated, const walk& walked);
    outcomes judge_on_probation(const point& p, double decided);
    //! Closes the stream: the stamps from one on walk, and are not to be followed.
    outcome go_astray(const point& p, double slope);
    outcomes judge_astray(const point& p, bool restated, double decided);

    source d_source = source::items;
    timestamp d_origin;
    double d_rate = 0;
    state d_state = state::trusted;
    bool d_knows = false;
    int64_t d_offset = 0;
    std::deque<point> d_points;  // stamps that agree, since the last jump
    std::deque<point> d_history; // newest stamps, across small jumps
    std::deque<point> d_suspects;
    int64_t d_closed = 0;         // item from which on the stream is not trusted
    int64_t d_expiry = 0;         // item until which a stamp is waited for
    int64_t d_newest = 0;         // item of the last stamp
    std::deque<int64_t> d_pauses; // items between stamps, the newest ones
    double d_slope = 0;
    double d_late = 0, d_early = 0;   // recent extremes of stamps that agree, in ticks
    double d_anchor = 0;              // offset by the first stamps since the last jump
    double d_astray = 0;              // walk of the stamps when they went astray
    bool d_told = false;              // a drift was reported
    std::array<int, 2> d_confirmed{}; // stamps that agreed: plain ones, restated ones
    //! A grid that stamps may be rounded to: whether all were on it so far, and the
    //! evidence that this is no chance, in bits.
    struct grid {
        bool all_on = true;
        double evidence = 0;
    };
    std::array<grid, 4> d_grids{};
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_STREAM_CLOCK_H */
