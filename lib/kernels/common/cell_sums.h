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
 * Where a kernel adds up |x|^2 and |x|^4 of the voltages of sc8 that it makes, over the
 * slices of frames: in memory of the device, a ring of frames
 * `[frame][input][slice][channel of the filter]`. What is there is added to. Sums are
 * whole numbers.
 */
struct cell_sums {
    uint32_t* powers;  //!< of |x|^2
    uint64_t* squares; //!< of |x|^4
    int frames;        //!< of the ring
    int first_frame;   //!< in the ring, of the frame that a call begins with
    int slices, spectra_per_slice;

    //! Of slices for which 32 bits hold the sums of |x|^2, 2 127^2 at most each.
    static constexpr int most_spectra = 131072;
    //! Calls, frames and slices are multiples of so many spectra where they are summed.
    static constexpr int spectra_together = 8;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_CELL_SUMS_H */
