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
 * Checks the items that a block consumes and produces. Without it, too many items make
 * GNU Radio crash, and none at all make a flowgraph that never ends.
 */
class call_check
{
public:
    explicit call_check(gr::block& block) : d_block(block) {}

    call_rules rules;

    //! Is called before the first call of a run.
    void start();
    //! Begins a call with room for so many items, and so many of each input.
    void begin(int room, const gr_vector_int& offered);
    //! \throws std::runtime_error for more than the call was offered, or has room for
    void consume(int port, int items);
    void consume_each(int items);
    void produce(int port, int items);
    /*!
     * \param returned result of the call
     * \returns a warning about a block that makes no progress, once in a run; otherwise
     * empty
     * \throws std::runtime_error if the flowgraph cannot go on
     */
    std::string end(int returned);

private:
    //! The items that wait at each input, then the room of each output.
    struct surroundings {
        std::vector<int> items;
        bool ended = true; // all inputs have ended
        bool full =
            true; // all outputs are nearly full: their writers may need much room at once
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
    gr_vector_int d_offered; // items that are left of each input
    bool d_consumes = false; // the present call consumes items
    bool d_produces = false;
    bool d_has_consumed = false;     // items were consumed in the present run
    int64_t d_calls = 0, d_made = 0; // since the run began, where no item was consumed
    bool d_said = false;
    std::optional<surroundings>
        d_idle; // surroundings in the last call, which did nothing
    std::chrono::steady_clock::time_point d_since;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_CALL_CHECK_H */
