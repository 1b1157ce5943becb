/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_STATES_H
#define INCLUDED_APERTURE_STREAM_STATES_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/tags.h>
#include <pmt/pmt.h>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Keeps what the tags of a stream say, for whoever reads items.
 * \ingroup aperture
 *
 * Most tags are *states*: they are said on the first item, and where they change, and
 * hold until they are said again: rx_time, which goes on at rx_rate, rx_freq, bandwidth,
 * spectra, counted and others. All other tags, such as missing and partial, are *events*
 * of the one item that they are on.
 *
 * A reader gives the tags of its items to take(), window after window, and is told what
 * holds for each item:
 *
 *     std::vector<gr::tag_t> tags;
 *     get_tags_in_window(tags, 0, 0, count);
 *     for (const auto& run : d_states.take(tags, nitems_read(0), nitems_read(0) + count))
 *         ... // run.states, run.events and run.time(item) of the items of the run
 *
 * A flowgraph that starts anew counts items from 0 again: a window that does not follow
 * on the last one makes the object forget what was said before.
 */
class APERTURE_API stream_states
{
public:
    //! Key to value.
    typedef std::map<std::string, pmt::pmt_t> values;
    //! Whole seconds since 1970 and a fraction.
    typedef std::pair<uint64_t, double> time_value;

    //! Items in a row for which the same holds.
    class APERTURE_API run
    {
    public:
        uint64_t first = 0; //!< number of the first item
        uint64_t end = 0;   //!< number of the item behind the last one
        double rate = 0;    //!< items a second by rx_rate; 0: not known
        //! The states of the first item, rx_time being the time of that item. A key that
        //! is not there was not said so far.
        values states;
        //! The values of each event on the item. A run with events is of one item.
        std::map<std::string, std::vector<pmt::pmt_t>> events;

        //! Returns the time of an item of the run, or nothing where it is not known.
        std::optional<time_value> time(uint64_t item) const;
        //! Returns the states and events of an item of the run; rx_time is that of the
        //! item, and of several events of one key it is the last.
        values at(uint64_t item) const;

    private:
        friend class stream_states;
        std::optional<std::pair<uint64_t, time_value>> d_clock;
    };

    //! \param more keys of further tags that are states
    explicit stream_states(std::set<std::string> more = {});

    //! Returns whether a tag of this key is a state in every stream.
    static bool is_state(const std::string& key);

    //! Takes the tags of the items from `first` to before `end`, in any order, and
    //! returns the runs of these items.
    std::vector<run> take(std::vector<gr::tag_t> tags, uint64_t first, uint64_t end);
    //! Takes one tag; for readers that get tags one by one, in the order of their items.
    void take(const gr::tag_t& tag);
    //! Forgets all that was said.
    void forget();

    //! Returns the states as they were said last.
    const values& said() const { return d_said; }
    //! Returns the number of the item on which a state was said for the first time since
    //! all was forgotten, or nothing where it was not. Where that is not the first item
    //! that was read, nobody knows the state of the items before.
    std::optional<uint64_t> since(const std::string& key) const;

private:
    run run_of(uint64_t first, uint64_t end) const;

    const std::set<std::string> d_more;
    uint64_t d_next = 0; // item behind the last window
    values d_said;
    std::map<std::string, uint64_t> d_since;
    std::optional<std::pair<uint64_t, time_value>> d_clock; // an item and its time
    double d_rate = 0;      // items a second; 0: not known
    int64_t d_stamped = -1; // item of the newest rx_time
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_STATES_H */
