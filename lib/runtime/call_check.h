/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_CALL_CHECK_H
#define INCLUDED_APERTURE_RUNTIME_CALL_CHECK_H

#include <gnuradio/aperture/device/device_block.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace gr::aperture {

/*!
 * Whether what a block consumes and produces is what GNU Radio can go on with. Without it
 * too many items are a crash, and none at all is a flowgraph that never ends.
 */
class call_check
{
public:
    explicit call_check(gr::block& block) : d_block(block) {}

    call_rules rules;

    //! Before the first call of a run.
    void start();
    //! A call has room for so many items, and is offered so many of each input.
    void begin(int room, const gr_vector_int& offered);
    //! \throws std::runtime_error for more than the call was offered, or has room for
    void consume(int port, int items);
    void consume_each(int items);
    void produce(int port, int items);
    /*!
     * \param returned by the call
     * \returns what is to be said of a block that gets nowhere, once a run; empty:
     * nothing \throws std::runtime_error if the flowgraph cannot go on
     */
    std::string end(int returned);

private:
    //! What waits at each input, then the room of each output.
    struct surroundings {
        std::vector<int> items;
        bool ended = true; // all inputs
        bool full = true;  // as good as: whoever writes them may want much room at once
        bool operator==(const surroundings& o) const
        {
            return items == o.items && ended == o.ended && full == o.full;
        }
    };
    surroundings look() const;
    bool has_messages() const;
    std::string left_over(const surroundings& s) const;
    std::string idle();
    void never_consumes();

    gr::block& d_block;
    int d_room = 0;
    gr_vector_int d_offered; // what is left of it
    bool d_consumes = false; // something, in the present call
    bool d_produces = false;
    bool d_has_consumed = false;     // in the present run
    int64_t d_calls = 0, d_made = 0; // since it began, where nothing was consumed
    bool d_said = false;
    std::optional<surroundings> d_idle; // in the last call, which did nothing
    std::chrono::steady_clock::time_point d_since;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_CALL_CHECK_H */
