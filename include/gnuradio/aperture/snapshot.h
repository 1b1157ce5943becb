/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SNAPSHOT_H
#define INCLUDED_APERTURE_SNAPSHOT_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <pmt/pmt.h>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Copies some items a second of an edge, for displays.
 * \ingroup aperture
 *
 * All items are consumed as they come. At most `rate` a second are copied to the host,
 * the newest ones of those that came together; the others are not copied, and the edge
 * never waits for a display. The last item of a stream that ends is taken in any case.
 * The block has one port in, of items of any size, and no port out.
 */
class APERTURE_API snapshot : virtual public block_on_device
{
public:
    typedef std::shared_ptr<snapshot> sptr;

    struct parameters {
        int item_size = 8;
        double rate = 10;
        int depth = 1;
        std::string device = "auto";
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("item_size", &parameters::item_size, "bytes of an item")
                .range(1, 2147483647),
            parameter("rate",
                      &parameters::rate,
                      "items a second that are taken at most; 0: one whenever "
                      "read() or read_after() has been called since the last")
                .range(0, 1e6)
                .called("Items per Second"),
            parameter("depth",
                      &parameters::depth,
                      "number of newest items that are kept, 1 to 4096; with `rate`, so "
                      "many that come at once can all be taken")
                .range(1, 4096)
                .called("Items Kept"),
            device_parameter<parameters>());
    }

    //! An item, and what the tags up to it say about it.
    struct item {
        std::vector<char> data; //!< item_size bytes
        uint64_t serial = 0;    //!< counts what is taken items from 1 on, over all starts
        uint64_t number = 0;    //!< index of the item, since the start of the flowgraph
        //! Time by rx_time and rx_rate: whole seconds and a fraction.
        std::optional<std::pair<uint64_t, double>> time;
        std::optional<double> rate;      //!< rx_rate, items a second
        std::optional<double> frequency; //!< rx_freq, Hz
        //! The states that hold for the item, rx_time being that of the item, and the
        //! events that are on it: see stream_states.
        std::map<std::string, pmt::pmt_t> tags;
    };

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Returns the newest item that was taken and has arrived on the host. Any thread may
    //! call it, also after the end. The next start keeps the item until it takes one.
    virtual std::optional<item> read() = 0;

    //! Returns the items among the last `depth` whose serial is above one, oldest first.
    virtual std::vector<item> read_after(uint64_t serial) = 0;

    //! Returns the items that came since the start.
    virtual uint64_t items() const = 0;

    //! Returns how many of them were taken.
    virtual uint64_t taken() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_SNAPSHOT_H */
