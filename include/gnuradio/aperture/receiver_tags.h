/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RECEIVER_TAGS_H
#define INCLUDED_APERTURE_RECEIVER_TAGS_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/parameter.h>
#include <gnuradio/sync_block.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

namespace gr::aperture {

/*!
 * \brief Tags samples with the time, the frequency and the rate that their source does
 * not say.
 * \ingroup aperture
 *
 * It has one port in and one port out, of items of any size, which are passed on
 * unchanged. The first item gets those of rx_time, rx_rate and rx_freq that it lacks.
 * What was assumed is logged and published on port `status` (event `assumed`).
 *
 * rx_time from the host's clock is when the first items came, and is tagged
 * rx_time_approximate beside it: it is late by the delay in the receiver, the driver and
 * the bus.
 *
 * A frequency or rate that is set while the block runs is tagged at the next item that it
 * passes on, with an rx_time beside it where the clock can be extrapolated from the last
 * one: nothing was lost. Samples that were on their way when the receiver was tuned pass
 * before.
 */
class APERTURE_API receiver_tags : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<receiver_tags> sptr;

    struct parameters {
        int item_size = 8;
        double rate = 0;
        double center_frequency = 0;
        std::string clock = "host";
        std::pair<uint64_t, double> start_time = { 1704067200, 0 };
        bool replace = false;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("item_size", &parameters::item_size, "bytes of an item")
                .range(1, 2147483647),
            parameter("rate",
                      &parameters::rate,
                      "items a second, for rx_rate; 0: none is added")
                .can_be_set()
                .range(0)
                .in("Hz")
                .called("Sample Rate"),
            parameter("center_frequency",
                      &parameters::center_frequency,
                      "Hz, the sky frequency of the middle of the band, for rx_freq; 0: "
                      "none is added")
                .can_be_set()
                .finite()
                .in("Hz"),
            parameter("clock",
                      &parameters::clock,
                      "origin of rx_time: host (the host's clock when the first "
                      "items came, approximate), given (start_time) or none")
                .one_of("host", "given", "none")
                .called("Time from"),
            parameter(
                "start_time",
                &parameters::start_time,
                "time of the first item, for clock given: (whole seconds since 1970, "
                "fraction of a second)")
                .called("Start Time (s)"),
            parameter(
                "replace",
                &parameters::replace,
                "whether the source's own rx_time, rx_rate and rx_freq are replaced "
                "by the ones given here; jumps of the source's rx_time are kept")
                .called("Replace the Source's"));
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    /*!
     * Takes the frequency to which the receiver was tuned: rx_freq is tagged at the next
     * item. 0: none is added.
     * \throws std::invalid_argument
     */
    virtual void set_center_frequency(double frequency) = 0;
    virtual double center_frequency() const = 0;

    /*!
     * Takes the receiver's new rate: rx_rate is tagged at the next item. 0: none is
     * added.
     * \throws std::invalid_argument
     */
    virtual void set_rate(double rate) = 0;
    virtual double rate() const = 0;

    /*!
     * Sets the time of the next item, from a GPS receiver or the user; from there on
     * rx_time is not approximate. Before the start it is that of the first item, as with
     * clock `given`.
     * \throws std::invalid_argument
     */
    virtual void set_time(const std::pair<uint64_t, double>& time) = 0;

    /*!
     * Returns how often the source said since the start that samples were lost: an
     * rx_rate that is repeated, or an rx_time that jumps by half an item or more. Drivers
     * say the same when the receiver is tuned.
     */
    virtual uint64_t losses() const = 0;

    //! Returns the items that have come and were not passed on yet: there are none where
    //! the source sends nothing any more, and some where the blocks behind have no room.
    virtual uint64_t waiting() const = 0;

    /*!
     * Ends the stream with the items that were passed on so far, also where the source
     * sends nothing any more, so that all blocks behind this one write what they have.
     */
    virtual void finish() = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RECEIVER_TAGS_H */
