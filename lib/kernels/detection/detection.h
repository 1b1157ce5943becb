/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DETECTION_DETECTION_H
#define INCLUDED_APERTURE_KERNELS_DETECTION_DETECTION_H

#include "kernels/common/types.h"
#include <gnuradio/aperture/device/stream.h>
#include <cstddef>
#include <string>

namespace gr::aperture::kernels {

/*!
 * The detection of beams, by which power_detector and beam_power make integrated powers
 * of voltages.
 *
 * With x and y the beams 2m and 2m+1 of a pair (linear), or r and l (circular):
 *
 *     power      |beam|^2, of each beam by itself
 *     intensity  I
 *     stokes     I, Q, U, V
 *     coherency  XX, YY, Re XY*, Im XY* (circular: RR, LL, Re RL*, Im RL*)
 *
 *     linear     I = XX + YY, Q = XX - YY, U = 2 Re XY*, V = 2 Im XY*
 *     circular   I = RR + LL, Q = 2 Re RL*, U = 2 Im RL*, V = RR - LL
 *
 * A *row* of the output is a beam (power) or a pair. A *part* is a sum that is scaled by
 * itself: |beam|^2 (one part), or |x|^2, |y|^2 and x y* (three).
 */
struct detection {
    enum class product_set { power, intensity, stokes, coherency };
    enum class feeds { linear, circular };

    product_set products;
    feeds basis;     //!< feeds of the pairs; unused for power and coherency
    int64_t spectra; //!< spectra in an integration: a divisor or a multiple of a frame's
    int summed_channels; //!< neighbours that become one channel: a divisor of channels

    bool of_pairs() const { return products != product_set::power; }
    int rows(int beams) const { return of_pairs() ? beams / 2 : beams; }
    int parts() const { return of_pairs() ? 3 : 1; }
    //! Returns the products of a row.
    int product_count() const;
    //! Returns the integrations that end in a frame; 0 if they are longer than a frame.
    int integrations(int times) const { return int(times / spectra); }

    //! Returns the powers that a frame gives, or an integration of several.
    size_t powers(int channels, int beams, int times) const;

    //! \throws std::invalid_argument
    void check(int channels, int beams, int times) const;
};

//! Reads one of power, I, IQUV, coherency. \throws std::invalid_argument
detection::product_set parse_products(const std::string& name);
//! Reads one of linear, circular. \throws std::invalid_argument
detection::feeds parse_basis(const std::string& name);

/*!
 * Factors of the sums in the output: one for all, or one for each
 * [integration][row][part].
 */
struct detection_scales {
    const float* values;
    size_t count;
};

//! Interface of kernels that make integrated powers of frames of voltages: power_detector
//! those of beams, beam_power those of inputs.
class detecting_kernel
{
public:
    virtual ~detecting_kernel() = default;
    virtual std::string implementation() const = 0;

    //! Makes integrations that are not longer than a frame: voltages [frame][...] ->
    //! powers [frame][integration][row][product][channel / summed_channels].
    //! \param scales [frame][integration][row][part], in host memory that may be freed
    //! when this returns, or one for all
    virtual void execute(const void* voltages,
                         float* powers,
                         int frames,
                         const detection_scales& scales,
                         stream&) = 0;

    //! Adds frames to the running sums of a long integration, which begin with zero.
    virtual void accumulate(const void* voltages, int frames, stream&) = 0;
    //! Converts sums to powers [row][product][channel / summed_channels], scaled; then
    //! the sums are zero.
    //! \param scales [row][part], in host memory that may be freed when this returns, or
    //! one for all
    virtual void dump(float* powers, const detection_scales& scales, stream&) = 0;
    //! Sets the sums to zero.
    virtual void clear(stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_DETECTION_DETECTION_H */
