/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CORNER_TURN_H
#define INCLUDED_APERTURE_CORNER_TURN_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/block_on_device.h>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Collects spectra of many inputs into blocks in which time is the fastest axis.
 * \ingroup aperture
 *
 * Ports in: inputs/inputs_per_port, an item is `[input][channel]`, one spectrum of each
 * input of the port. Port out: an item is a block `[channel][input][time]`. Ports are
 * lined up by rx_time; spectra lost in between become zeros with `missing` tags, and
 * `missing` tags of the inputs are merged into those of the block they fall into. When
 * the input ends, the last block is filled with zeros that count as missing, and tagged
 * `partial`.
 */
class APERTURE_API corner_turn : virtual public block_on_device
{
public:
    typedef std::shared_ptr<corner_turn> sptr;

    struct parameters {
        int channels = 1024;         //!< channels of each spectrum that comes in
        int inputs = 2;              //!< all ports together
        int inputs_per_port = 1;     //!< spectra of each input item, one after the other
        int spectra_per_frame = 256; //!< spectra in a frame
        std::string type = "fc32";   //!< fc32, sc8 or sc4
        int first_channel = 0;       //!< of those that are passed on
        int selected_channels = 0;   //!< how many are passed on; 0: all from the first on
        //! seconds: drop spectra until the first at or after a multiple of this since
        //! 1970
        double align = 0;
        //! seconds: an rx_time that jumps further is not filled with missing items, but
        //! begins the alignment anew
        double most_gap = 60;
        //! rx_time counts from the device's start, whatever its value; below 1e8 s (1973)
        //! it does anyway
        bool relative_time = false;
        std::string device = "auto";
        double latency = 0.1; //!< see block_on_device::set_latency()
    };

    static sptr make(const parameters& p);

    //! For each input, values of -128 (sc4: -8) that were replaced by -127 (-7).
    virtual std::vector<uint64_t> clamped() const = 0;
    //! For each input, spectra that were lost (the padding at the end not counted).
    virtual std::vector<uint64_t> missing() const = 0;
    //! What computes, for example "host".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CORNER_TURN_H */
