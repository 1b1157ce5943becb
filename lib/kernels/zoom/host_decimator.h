/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_ZOOM_HOST_DECIMATOR_H
#define INCLUDED_APERTURE_KERNELS_ZOOM_HOST_DECIMATOR_H

#include "kernels/common/fftw.h"
#include "kernels/zoom/zoom_filter.h"

namespace gr::aperture::kernels::host {

/*!
 * One stage of filters for complex samples, y[m] = sum_j h[j] x[mD + j]. It keeps the
 * samples that later results need, so that a stream can come in pieces of any length:
 * each result is the same sum in the same order, however it is cut.
 */
class host_decimator
{
public:
    //! \param most samples of a piece
    host_decimator(const zoom_stage& s, size_t most);

    //! Forgets all samples.
    void clear() { d_held = 0; }
    //! Returns where the next piece is to be written, as re, im, re, im ...
    float* room() { return d_samples.get() + 2 * d_held; }
    //! Filters, once `count` samples are in room(). \returns how many results there are
    size_t run(size_t count, float* results);
    //! Returns how many results a piece of so many samples has at most.
    size_t most_results(size_t samples) const { return samples / d_hop + 1; }

private:
    const size_t d_taps, d_hop;
    const size_t d_vectors; // vectors that hold all taps
    size_t d_held = 0;      // samples that are there
    fft_buffer d_h;         // each tap twice, zeros behind them
    fft_buffer d_samples;
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_ZOOM_HOST_DECIMATOR_H */
