/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_PACKETS_PAYLOAD_ORDER_H
#define INCLUDED_APERTURE_FORMATS_PACKETS_PAYLOAD_ORDER_H

#include "formats/packets/packet_layout.h"

namespace gr::aperture::formats {

//! Copies payloads of channels, whose axes are in any order, to and from frames
//! [channel][input][time].
class payload_order
{
public:
    /*!
     * \param layout one with channels
     * \param frame_inputs, frame_spectra inputs and spectra of a frame
     */
    payload_order(const packet_layout& layout,
                  const packet_settings& settings,
                  int64_t frame_inputs,
                  int64_t frame_spectra);

    //! \param frame the place in a frame of the payload's first sample
    void to_frame(const uint8_t* payload, char* frame) const;
    void from_frame(const char* frame, uint8_t* payload) const;

private:
    const packet_settings d_s;
    const size_t d_element;
    //! samples from one to the next of an axis, in a payload and in a frame
    struct strides {
        size_t channel, time, input;
    };
    strides d_payload, d_frame;
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_PACKETS_PAYLOAD_ORDER_H */
