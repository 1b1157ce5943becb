/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_COPY_H
#define INCLUDED_APERTURE_COPY_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/parameter.h>
#include <string>
#include <tuple>

namespace gr::aperture {

/*!
 * \brief Passes items on unchanged, by way of the memory of a device.
 * \ingroup aperture
 *
 * The block shows what an edge on a device costs, without a kernel, in tests, lessons and
 * benchmarks. It has one port in and one port out, of items of any size; all tags are
 * passed on.
 */
class APERTURE_API copy : virtual public block_on_device
{
public:
    typedef std::shared_ptr<copy> sptr;

    struct parameters {
        int item_size = 8;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("item_size", &parameters::item_size, "bytes of an item")
                .range(1, 2147483647),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    static sptr make(const parameters& p);
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_COPY_H */
