/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_EVENT_LOG_H
#define INCLUDED_APERTURE_RUNTIME_EVENT_LOG_H

#include <gnuradio/aperture/device/stream.h>
#include <cstdint>
#include <deque>

namespace gr::aperture {

/*!
 * Records which work of one stream uses which items of a ring, so that others wait for no
 * more than they need. Items are counted from the start of the run; neither end of added
 * ranges ever goes back.
 */
class event_log
{
public:
    //! Adds work on items first ... end-1, done after an event; nullptr: it is done.
    void add(int64_t first, int64_t end, const event_sptr& e);
    //! Returns an event after which no work uses items below limit (nullptr: none does).
    event_sptr last_use_below(int64_t limit) const;
    //! Returns an event after which work on all items below end is done; or nullptr.
    event_sptr completion_of(int64_t end) const;
    //! Returns an event after which all work is done.
    event_sptr last() const;
    void clear();

private:
    struct entry {
        int64_t first, end;
        event_sptr done;
    };
    std::deque<entry> d_entries; // in the order of their work
    int64_t d_done = INT64_MIN;  // work on items below it is done
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_EVENT_LOG_H */
