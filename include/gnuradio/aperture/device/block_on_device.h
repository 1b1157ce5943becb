/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DEVICE_BLOCK_ON_DEVICE_H
#define INCLUDED_APERTURE_DEVICE_BLOCK_ON_DEVICE_H

#include <gnuradio/aperture/device/api.h>
#include <gnuradio/block.h>
#include <string>

namespace gr::aperture {

/*!
 * \brief Base of all blocks whose `device` can be chosen.
 * \ingroup aperture
 */
class APERTURE_DEVICE_API block_on_device : virtual public gr::block
{
public:
    //! Returns the device of the block: cpu, cuda:0, ...; for `auto`, the chosen one.
    virtual std::string device_name() const = 0;

    //! Returns the name of the GPU, for people; empty for the CPU.
    virtual std::string device_description() const = 0;

    //! Returns the error that ended the block since the last start; empty if there was
    //! none.
    virtual std::string error() const = 0;

    /*!
     * Sets the longest time that a call waits for more input while the device is busy
     * with earlier ones: many small calls would keep a GPU from its work. On the CPU, and
     * where the device keeps up, nothing waits.
     * \param seconds 0 (never waits) to 10
     * \throws std::invalid_argument
     */
    virtual void set_latency(double seconds) = 0;
    virtual double latency() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEVICE_BLOCK_ON_DEVICE_H */
