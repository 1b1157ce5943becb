/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_NETWORK_SPEAD_FRAMES_H
#define INCLUDED_APERTURE_NETWORK_SPEAD_FRAMES_H

#include <gnuradio/aperture/api.h>
#include <cstdint>

namespace gr::aperture::network {

/*!
 * The layout of frames that are made of heaps of 8-bit voltages.
 *
 * A heap is `[channels][spectra][polarizations]` of sc8, as F-engines and beamformers of
 * MeerKAT send it; heaps are ordered `[slot][sender][range]`. A frame is
 * `[range, channel][sender, polarization][slot, spectrum]`.
 */
struct voltage_heaps {
    int64_t slots = 1, senders = 1, ranges = 1;           //!< numbers in a frame
    int64_t channels = 1, spectra = 1, polarizations = 1; //!< numbers in a heap

    int64_t heaps() const { return slots * senders * ranges; }
    int64_t heap_bytes() const { return channels * spectra * polarizations * 2; }
    int64_t frame_bytes() const { return heaps() * heap_bytes(); }
};

/*!
 * Makes a frame of heaps; those that are not present become zeros.
 *
 * \param heaps `[heap]` of voltages
 * \param present `[heap]`, 0 where a heap is not there
 * \return how many samples had a -128, which becomes -127, as correlators require
 */
APERTURE_API int64_t heaps_to_frame(const int8_t* heaps,
                                    const uint8_t* present,
                                    const voltage_heaps& layout,
                                    int8_t* frame);

/*!
 * Copies spectra of a frame into the heaps of one slot.
 *
 * \param frame `[channel][input][time]` of all ranges' channels
 * \param times spectra of the frame
 * \param inputs inputs of the frame
 * \param first_input index of the first polarization of the first sender among these
 * \param from first spectrum of the frame that is copied
 * \param to its place in a heap
 * \param count number of spectra
 * \param layout layout of the heaps; slots is not used
 * \param heaps `[sender][range]` of voltages
 */
APERTURE_API void frame_to_heaps(const int8_t* frame,
                                 int64_t times,
                                 int64_t inputs,
                                 int64_t first_input,
                                 int64_t from,
                                 int64_t to,
                                 int64_t count,
                                 const voltage_heaps& layout,
                                 int8_t* heaps);

} // namespace gr::aperture::network

#endif /* INCLUDED_APERTURE_NETWORK_SPEAD_FRAMES_H */
