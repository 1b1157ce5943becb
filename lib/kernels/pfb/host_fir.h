/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_HOST_FIR_H
#define INCLUDED_APERTURE_KERNELS_PFB_HOST_FIR_H

#include "kernels/common/fftw.h"
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels::host {

/*!
 * The filter of a polyphase filter bank, before the transforms: samples lie in rows, one
 * for each spectrum, and
 *
 *     y[m][j] = sum_t h[t][j] x[m + t][j]
 *
 * It goes through the rows in columns of some cache lines. What is in a column is read,
 * and converted to float, once for all spectra of a call, into memory that stays in the
 * first-level cache; there the taps of several spectra are summed side by side.
 *
 * Oversampled spectra, whose rows overlap in parts, are filtered one by one.
 */
class host_fir
{
public:
    //! \param h [taps][row]; \param row floats of a row; \param spectra at most, of a
    //! call
    host_fir(const std::vector<float>& h, int taps, size_t row, size_t spectra);

    //! x: (spectra - 1 + taps) rows; y: rows of stride() floats, aligned for FFTW. 8-bit
    //! -128 is read as -127.
    void filter(const float* x, size_t spectra, float* y);
    void filter(const int16_t* x, size_t spectra, float* y);
    void filter(const int8_t* x, size_t spectra, float* y);

    //! Filters one spectrum: x: `taps` rows, and what lies up to padding() floats behind
    //! them; y: a row of stride() floats.
    void filter_one(const float* x, float* y) const;

    //! Floats behind the last row that filter_one() reads, and has no use for.
    static size_t padding();

    //! Floats from one row of results to the next.
    size_t stride() const { return d_stride; }

private:
    template <class number>
    void filter_rows(const number* x, size_t spectra, float* y);

    const int d_taps;
    const size_t d_row, d_stride;
    fft_buffer d_h;      // [column][tap][float], zeros behind the row's end
    fft_buffer d_column; // [row][float]
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_PFB_HOST_FIR_H */
