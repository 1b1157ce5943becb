/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_CELL_SUMS_H
#define INCLUDED_APERTURE_KERNELS_COMMON_CELL_SUMS_H

#include <cstdint>

namespace gr::aperture::kernels {

/*!
 * The sums of |x|^2 and |x|^4 to which a kernel adds those of the sc8 voltages that it
 * makes, over the slices of frames: in memory of the device, a ring of frames
 * `[frame][input][slice][channel of the filter]`. Sums are whole numbers.
 */
struct cell_sums {
    uint32_t* powers;  //!< sums of |x|^2
    uint64_t* squares; //!< sums of |x|^4
    int frames;        //!< frames of the ring
    int first_frame;   //!< place in the ring of the frame that a call begins with
    int slices, spectra_per_slice;

    //! Spectra of the longest slice: 32 bits hold its sums of |x|^2, 2 127^2 at most.
    static constexpr int most_spectra = 131072;
    //! Calls, frames and slices are multiples of so many spectra where they are summed.
    static constexpr int spectra_together = 8;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_CELL_SUMS_H */
