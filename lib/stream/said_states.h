/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_SAID_STATES_H
#define INCLUDED_APERTURE_STREAM_SAID_STATES_H

#include "stream/timestamp.h"
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * Remembers what was said of an output with integrations, so that its states are said
 * where they are not what a reader (stream_states) expects. Once a second of the stream
 * they are said again: a reader that begins later waits no longer than that.
 */
class said_states
{
public:
    //! Seconds by which the time that a reader expects may be off: its arithmetic is good
    //! to 1e-15 s.
    static constexpr double resolution = 1e-12;

    //! Begins a description: the next item says all.
    //! \param rate items a second, as said; 0: not known, then each item says all
    void begin(double rate)
    {
        d_rate = rate;
        d_said.reset();
        d_clock.reset();
    }
    //! Notes that the time of an item is said.
    void say_time(uint64_t item, const timestamp& time) { d_clock = { item, time }; }

    struct news {
        bool time, spectra, counted;
    };
    //! Returns which states of an item are to be said, and takes them as said.
    //! \param time nothing where it is not known
    news take(uint64_t item,
              const std::optional<timestamp>& time,
              uint64_t spectra,
              const std::vector<uint64_t>& counted)
    {
        const bool again =
            !d_said || d_rate <= 0 || double(item - d_said->item) >= d_rate;
        const news found{ time && (again || !expects(item, *time)),
                          again || d_said->spectra != spectra,
                          again || d_said->counted != counted };
        if (again)
            d_said = { item, spectra, counted };
        else if (found.spectra || found.counted)
            d_said = { d_said->item, spectra, counted };
        if (found.time)
            say_time(item, *time);
        return found;
    }

private:
    bool expects(uint64_t item, const timestamp& time) const
    {
        return d_clock && (item == d_clock->first || d_rate > 0) &&
               std::abs(time.since(d_clock->second.after(double(item - d_clock->first),
                                                         d_rate > 0 ? d_rate : 1))) <=
                   resolution;
    }

    struct states {
        uint64_t item; // on which all was said
        uint64_t spectra;
        std::vector<uint64_t> counted;
    };
    double d_rate = 0;
    std::optional<states> d_said;
    std::optional<std::pair<uint64_t, timestamp>> d_clock; // item of the last rx_time
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_SAID_STATES_H */
