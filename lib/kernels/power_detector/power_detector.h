/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_POWER_DETECTOR_H
#define INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_POWER_DETECTOR_H

#include "kernels/detection/detection.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>

namespace gr::aperture::kernels {

/*!
 * Powers or Stokes parameters of beams, integrated over time and, if wanted, over
 * neighbouring channels. Formulas, rows and parts: see detection. The kernel takes
 * voltages [frame][channel][beam][time].
 */
class power_detector : public detecting_kernel
{
public:
    struct parameters {
        int channels, beams, spectra_per_frame;
        sample_type input; //!< fc32 or sc8
        detection detect;
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<power_detector> make(const parameters&, const device&);
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_POWER_DETECTOR_POWER_DETECTOR_H */
