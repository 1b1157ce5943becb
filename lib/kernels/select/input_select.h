/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_SELECT_INPUT_SELECT_H
#define INCLUDED_APERTURE_KERNELS_SELECT_INPUT_SELECT_H

#include "kernels/common/types.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

//! Selects inputs of frames [channel][input][byte], or of their masks.
class input_select
{
public:
    struct parameters {
        int channels, inputs;
        int64_t bytes; //!< each channel of an input has so many in a frame
        std::vector<int> selected;
        int64_t frame_bytes() const { return int64_t(channels) * inputs * bytes; }
        int64_t selected_bytes() const
        {
            return int64_t(channels) * int64_t(selected.size()) * bytes;
        }
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<input_select> make(const parameters&, const device&);
    virtual ~input_select() = default;
    virtual std::string implementation() const = 0;

    //! Copies frames [frame][channel][input][byte] to [frame][channel][selected][byte].
    virtual void execute(const void* frames, void* selected, int count, stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_SELECT_INPUT_SELECT_H */
