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
 * \brief Says when, at which frequency and at which rate samples were received, where
 * their source does not.
 * \ingroup aperture
 *
 * One port in, one port out, of items of any size, which are passed on unchanged. The
 * first item gets those of rx_time, rx_rate and rx_freq that it lacks. What was assumed
 * is logged and published on port `status` (event `assumed`).
 *
 * rx_time from the host's clock is when the first items came, and is tagged
 * rx_time_approximate beside it: it is late by what lay in the receiver, the driver and
 * the bus.
 *
 * A frequency or rate that is set while the block runs is tagged at the next item that it
 * passes on, with an rx_time beside it where the clock can be reckoned on from the last
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

    //! What the parameters mean.
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
                      "where rx_time comes from: host (the host's clock when the first "
                      "items came, approximate), given (start_time) or none")
                .one_of("host", "given", "none")
                .called("Time from"),
            parameter("start_time",
                      &parameters::start_time,
                      "of the first item, for clock given: (whole seconds since 1970, "
                      "fraction of a second)")
                .called("Start Time (s)"),
            parameter(
                "replace",
                &parameters::replace,
                "whether the source's own rx_time, rx_rate and rx_freq are replaced "
                "by what is given here; jumps of the source's rx_time are kept")
                .called("Replace the Source's"));
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    /*!
     * The receiver was tuned: rx_freq is tagged at the next item. 0: none is added.
     * \throws std::invalid_argument
     */
    virtual void set_center_frequency(double frequency) = 0;
    virtual double center_frequency() const = 0;

    /*!
     * The receiver's rate is another one: rx_rate is tagged at the next item. 0: none is
     * added.
     * \throws std::invalid_argument
     */
    virtual void set_rate(double rate) = 0;
    virtual double rate() const = 0;

    /*!
     * The time of the next item, which from there on is no approximate one: what a
     * receiver of GPS or the user says. Before the start: that of the first item, as with
     * clock given.
     * \throws std::invalid_argument
     */
    virtual void set_time(const std::pair<uint64_t, double>& time) = 0;

    /*!
     * How often the source said since the start that samples were lost: an rx_rate that
     * is repeated, or an rx_time that jumps by half an item or more. Drivers say the same
     * when the receiver is tuned.
     */
    virtual uint64_t losses() const = 0;

    //! Items that have come and were not passed on yet: where the source sends nothing
    //! any more there are none, where what is behind has no room for more there are some.
    virtual uint64_t waiting() const = 0;

    /*!
     * Ends the stream with the items that were passed on so far, also where the source
     * sends nothing any more, so that all blocks behind this one write what they have.
     */
    virtual void finish() = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RECEIVER_TAGS_H */
