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
 * \brief Counts items and drops them without reading their data.
 * \ingroup aperture
 *
 * It ends a chain on a device, in tests, lessons and benchmarks: nothing is copied to the
 * host. It has one port in, of items of any size, and no port out.
 */
class APERTURE_API discard : virtual public block_on_device
{
public:
    typedef std::shared_ptr<discard> sptr;

    struct parameters {
        int item_size = 8;
        std::string device = "auto";
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("item_size", &parameters::item_size, "bytes of an item")
                .range(1, 2147483647),
            device_parameter<parameters>());
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);

    //! Returns the items since the start. Until the flowgraph has ended, the device may
    //! still be at work on some of them.
    virtual uint64_t items() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DISCARD_H */
