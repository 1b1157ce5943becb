/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CORNER_TURN_H
#define INCLUDED_APERTURE_KERNELS_CORNER_TURN_H

#include "kernels/types.h"
#include "runtime/device.h"
#include <memory>
#include <vector>

namespace gr {
namespace aperture {
namespace kernels {

//! [time][input][channel] of each port -> a block [channel][input][time] of all ports.
class corner_turn
{
public:
    struct parameters {
        int channels; //!< of the spectra that come in
        int ports;
        int inputs_per_port;
        int times;        //!< of a block
        sample_type type; //!< sc8, sc4 or fc32
        int first_channel;
        int selected_channels;
        int inputs() const { return ports * inputs_per_port; }
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<corner_turn> make(const parameters&, const device&);
    virtual ~corner_turn() = default;
    virtual std::string implementation() const = 0;

    /*!
     * Puts `count` spectra of each port at times first ... first+count-1 of the block. A
     * port of nullptr gives zeros.
     */
    virtual void
    execute(const void* const* spectra, void* block, int first, int count, stream&) = 0;

    //! For each input, values of -128 (sc4: -8) replaced by -127 (-7) so far.
    virtual std::vector<uint64_t> clamped() const = 0;
};

} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CORNER_TURN_H */
