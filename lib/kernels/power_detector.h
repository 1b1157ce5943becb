/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_H
#define INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_H

#include "kernels/detection.h"
#include "runtime/device.h"
#include <memory>

namespace gr {
namespace aperture {
namespace kernels {

/*!
 * Powers or Stokes parameters of beams, integrated over time and, if wanted, over
 * neighbouring channels. Formulas, rows and parts: see detection.
 */
class power_detector
{
public:
    struct parameters {
        int channels, beams, times;
        sample_type input; //!< fc32 or sc8
        detection detect;
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<power_detector> make(const parameters&, const device&);
    virtual ~power_detector() = default;
    virtual std::string implementation() const = 0;

    //! Integrations that are not longer than a block:
    //! beams [block][channel][beam][time] ->
    //! powers [block][integration][row][product][channel / summed_channels].
    //! `scales` of [block][integration][row][part], in host memory, or one.
    virtual void execute(const void* beams,
                         float* powers,
                         int blocks,
                         const detection_scales& scales,
                         stream&) = 0;

    //! Integrations of several blocks: adds blocks to the running sums (which begin with
    //! zero).
    virtual void accumulate(const void* beams, int blocks, stream&) = 0;
    //! sums -> powers [row][product][channel / summed_channels], scaled; then the sums
    //! are zero. `scales` of [row][part], in host memory, or one.
    virtual void dump(float* powers, const detection_scales& scales, stream&) = 0;
    //! Sets the sums to zero.
    virtual void clear(stream&) = 0;
};

} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_H */
