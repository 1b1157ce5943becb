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
 * How voltages of beams become integrated powers: what power_detector and beam_power
 * share.
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
 * A *row* is what an item of the output has one of: a beam (power) or a pair. A *part* is
 * a sum that is scaled by itself: |beam|^2 (one part), or |x|^2, |y|^2 and x y* (three).
 */
struct detection {
    enum class product_set { power, intensity, stokes, coherency };
    enum class feeds { linear, circular };

    product_set products;
    feeds basis;         //!< of the pairs; nothing to power and coherency
    int64_t spectra;     //!< in an integration: a divisor or a multiple of a frame's
    int summed_channels; //!< neighbours that become one channel: a divisor of channels

    bool of_pairs() const { return products != product_set::power; }
    int rows(int beams) const { return of_pairs() ? beams / 2 : beams; }
    int parts() const { return of_pairs() ? 3 : 1; }
    //! Products of a row.
    int product_count() const;
    //! Integrations that end in a frame; 0 if they are longer than a frame.
    int integrations(int times) const { return int(times / spectra); }

    //! Numbers that come out of a frame, or out of an integration of several.
    size_t powers(int channels, int beams, int times) const;

    //! \throws std::invalid_argument
    void check(int channels, int beams, int times) const;
};

//! One of power, I, IQUV, coherency. \throws std::invalid_argument
detection::product_set parse_products(const std::string& name);
//! One of linear, circular. \throws std::invalid_argument
detection::feeds parse_basis(const std::string& name);

/*!
 * What sums are multiplied with on their way out: one number for all, or one for each
 * [integration][row][part].
 */
struct detection_scales {
    const float* values;
    size_t count;
};

//! Frames of voltages in, integrated powers out: what power_detector does with beams and
//! beam_power with inputs.
class detecting_kernel
{
public:
    virtual ~detecting_kernel() = default;
    virtual std::string implementation() const = 0;

    //! Integrations that are not longer than a frame: voltages [frame][...] ->
    //! powers [frame][integration][row][product][channel / summed_channels].
    //! `scales` of [frame][integration][row][part], in host memory that may go when this
    //! returns, or one.
    virtual void execute(const void* voltages,
                         float* powers,
                         int frames,
                         const detection_scales& scales,
                         stream&) = 0;

    //! Integrations of several frames: adds frames to the running sums (which begin with
    //! zero).
    virtual void accumulate(const void* voltages, int frames, stream&) = 0;
    //! sums -> powers [row][product][channel / summed_channels], scaled; then the sums
    //! are zero. `scales` of [row][part], likewise, or one.
    virtual void dump(float* powers, const detection_scales& scales, stream&) = 0;
    //! Sets the sums to zero.
    virtual void clear(stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_DETECTION_DETECTION_H */
