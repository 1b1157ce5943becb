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
 * It is fed with stamps (an item and its time) and says at which tick an item lies: tick
 * n is n / rate seconds behind the origin, and item + offset() is the tick of an item. A
 * stamp that agrees with the clock, within the stamps' resolution and the scatter seen so
 * far, moves nothing but the mean of what the stamps say, which is followed slowly.
 *
 * One that disagrees is a jump. Where stamps come at losses only, nothing will ever
 * confirm it: it is believed at once. Where the clock has seen stamps that agree with it,
 * more will come: the jump is on probation, and the stream closed, until a further stamp
 * agrees with it, or with the clock before, or until none came for four times as long as
 * between the last stamps before.
 *
 * Stamps may walk away from the items. Through whole items, that is losses, however
 * regular. Through parts of items, or by less at a time than the stamps resolve, they are
 * of another clock than the one that takes the items, or the rate is not what it is
 * called. Where this clock is not to be followed, nobody knows then where the items lie:
 * the stream is closed until the walk has ended.
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
    //! Whose clock the stamps are.
    enum class source {
        items,   //!< that of the items, which counts them
        another, //!< one that may walk away from the items, and is followed
        //! One that was followed by who sends the items: each stamp says when its item
        //! was received, and only one that restates the rate tells of a jump.
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

    //! How many ticks the time of all streams has walked from the origin's.
    struct walk {
        double decided = 0; //!< what was said last
        double now = 0;     //!< what the clock that leads says, as far as it was read
        bool leads = false; //!< that clock is this one, which the time follows
    };

    void set_source(source s) { d_source = s; }
    //! The time follows the stamps where they walk away from the items.
    bool is_followed() const { return d_source != source::items; }
    bool was_followed() const { return d_source == source::followed; }

    //! Forgets everything but the source. The rate is that of items a second.
    void begin(const timestamp& origin, double rate);
    //! Other streams know the time, but this one does not: from an item on it is closed
    //! for so many items, unless a stamp comes.
    void wait(int64_t item, int64_t items);

    /*!
     * A stamp.
     * \param restated the source also said its rate, as sources do that begin anew. What
     * such stamps usually do and what others do is remembered apart.
     */
    outcomes
    stamp(int64_t item, const timestamp& time, bool restated, const walk& walked);
    //! A loss of unknown length before an item. A stamp is waited for where they are
    //! usual. `decided` as in walk.
    outcomes doubt(int64_t item, double decided);
    //! All stamps of items before this one have been read.
    outcomes reached(int64_t item, double decided);

    //! Ticks count from another origin, and all offsets are larger by `ticks`.
    void set_origin(const timestamp& origin, int64_t ticks);

    //! All times, of the stamps and the origin, were others: they lie where they lay.
    void set_time(const timestamp& origin);

    //! Forgets all stamps, but not where the items lie.
    void forget_stamps();

    //! All times of the stamps were too early, by so many ticks: they lie as much later.
    void move(int64_t ticks);

    //! A stamp was seen.
    bool knows_time() const { return d_knows; }
    //! The items that come are trusted.
    bool trusted() const { return d_state == state::trusted; }
    //! Stamps have confirmed the clock.
    bool confirmed() const { return d_confirmed[0] >= 2 || d_confirmed[1] >= 2; }
    int64_t offset() const { return d_offset; }
    //! How much later an item is by the stamps than by the offset, in ticks.
    double lag(int64_t item) const
    {
        return d_state == state::astray ? d_anchor - d_offset
               : d_knows                ? expected(item) - d_offset
                                        : 0;
    }
    //! How far stamps may lie apart that say the same, in ticks.
    double scatter() const;

private:
    enum class state { trusted, waiting, doubt, probation, astray };
    struct point {
        int64_t item;
        timestamp time;
        double offset; // what the stamp says
    };
    struct line {
        double slope, scatter;
        int64_t centre; // item
        double level;   // offset at the centre
    };

    double offset_of(int64_t item, const timestamp& time) const;
    //! The offset of an item by the stamps that agree.
    double expected(int64_t item) const;
    double tolerance() const;
    //! By how much stamps that agree were seen to scatter about their mean, in ticks.
    double peak() const;
    //! Ticks that stamps are rounded to, by a grid that so many bits speak for; with 0
    //! also by one that may be chance.
    double rounding(double evidence) const;
    //! The line through stamps.
    static line fit(const std::deque<point>& points);
    //! The stamps walk as no losses do: through parts of items, or by less from one to
    //! the next than they resolve.
    bool walks_finely(const std::deque<point>& points, const line& l) const;
    //! The line on which a clock walks, if a stamp continues one of those before that
    //! were taken for small jumps.
    std::optional<line> line_through(const std::deque<point>& before,
                                     const point& p) const;
    //! The clock walks along the stamps that agree, or has walked away from the first of
    //! them: by how much a tick.
    std::optional<double> walk_of_points() const;
    void note_resolution(int64_t item, const timestamp& time);
    void remember(const point& p);
    void confirm(const point& p, bool restated);
    void jump(const std::deque<point>& agreed, int64_t count);
    //! Items by which the stream jumped if it lies where a point says.
    int64_t jump_to(const point& p, double decided) const;
    int64_t patience() const;
    //! Counts the items of a jump.
    static void describe(outcome& o, int64_t jump);
    outcomes judge(const point& p, bool restated, const walk& walked);
    outcomes judge_on_probation(const point& p, double decided);
    //! The stamps from one on walk, and are not to be followed.
    outcome go_astray(const point& p, double slope);
    outcomes judge_astray(const point& p, bool restated, double decided);

    source d_source = source::items;
    timestamp d_origin;
    double d_rate = 0;
    state d_state = state::trusted;
    bool d_knows = false;
    int64_t d_offset = 0;
    std::deque<point> d_points;  // that agree, since the last jump
    std::deque<point> d_history; // the newest ones, across small jumps
    std::deque<point> d_suspects;
    int64_t d_closed = 0;         // item from which on the stream is not trusted
    int64_t d_expiry = 0;         // item until which a stamp is waited for
    int64_t d_newest = 0;         // item of the last stamp
    std::deque<int64_t> d_pauses; // items between stamps, the newest ones
    double d_slope = 0;
    double d_late = 0, d_early = 0; // ticks, the most that stamps that agree were of late
    double d_anchor = 0; // offset that the first stamps since the last jump say
    double d_astray = 0; // by which the stamps walked as they went astray
    bool d_told = false; // of a drift
    std::array<int, 2> d_confirmed{}; // stamps that agreed: plain ones, restated ones
    //! Of the grids that stamps may be rounded to: all were on it so far, and how sure it
    //! is that this is no chance, in bits.
    struct grid {
        bool all_on = true;
        double evidence = 0;
    };
    std::array<grid, 4> d_grids{};
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_STREAM_CLOCK_H */
