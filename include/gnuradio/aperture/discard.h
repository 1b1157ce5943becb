/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DISCARD_H
#define INCLUDED_APERTURE_DISCARD_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <cstdint>
#include <string>
#include <tuple>

namespace gr::aperture {

/*!
 * \brief Counts items and drops them, without a look at their data.
 * \ingroup aperture
 *
 * The end of a chain on a device, for tests, teaching and benchmarks: nothing is copied
 * to the host. One port in, of items of any size; no port out.
 */
class APERTURE_API discard : virtual public block_on_device
{
public:
    typedef std::shared_ptr<discard> sptr;

    struct parameters {
        int item_size = 8;
        std::string device = "auto";
    };

    //! What the parameters mean.
    static auto describe()
    {
        return std::make_tuple(
            parameter("item_size", &parameters::item_size, "bytes of an item")
                .range(1, 2147483647),
            device_parameter<parameters>());
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Items since the start. The device may have some calls of work before them to do
    //! until the flowgraph has ended.
    virtual uint64_t items() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DISCARD_H */
