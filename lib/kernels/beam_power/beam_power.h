/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAM_POWER_BEAM_POWER_H
#define INCLUDED_APERTURE_KERNELS_BEAM_POWER_BEAM_POWER_H

#include "kernels/beamformer/weighted_kernel.h"
#include "kernels/detection/detection.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>

namespace gr::aperture::kernels {

/*!
 * Forms beams and detects them (beamformer, with fc32 in between, and power_detector), so
 * that the voltages of the beams never reach memory; incoherent beams lie behind the
 * coherent ones.
 *
 * An incoherent beam is the sum of the powers of the inputs in its mask: |beam|^2 becomes
 * sum_k |x_k|^2. In a pair 2m, 2m+1 the k-th input of one mask and the k-th of the other
 * are an antenna: x y* becomes sum_k x_k y_k*. Gains and weights do not apply to them.
 * The kernel takes voltages [frame][channel][input][time].
 */
class beam_power : public detecting_kernel, public weighted_kernel
{
public:
    struct parameters {
        int channels, inputs;
        int beams;      //!< coherent beams; may be 0 if there are incoherent ones
        int incoherent; //!< incoherent beams: numbers beams ... beams + incoherent - 1
        int spectra_per_frame;
        sample_type input; //!< sc8, sc4 or fc32
        detection detect;
        int all_beams() const { return beams + incoherent; }
        int rows() const { return detect.rows(all_beams()); }
        //! \throws std::invalid_argument
        void check() const;
        //! Checks that the masks of a pair have as many inputs. \throws
        //! std::invalid_argument
        void check_masks(const uint8_t* masks) const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<beam_power> make(const parameters&, const device&);
    //! Sets masks [incoherent beam][input], 0 or 1, checked, in host memory that may be
    //! freed when this returns, for all frames from the next call on. They are zeros at
    //! first.
    virtual void set_masks(const uint8_t* masks, stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_BEAM_POWER_BEAM_POWER_H */
