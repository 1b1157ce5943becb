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
 * beamformer (with fc32 in between) and power_detector in one, so that the voltages of
 * the beams never reach memory; and incoherent beams behind the coherent ones.
 *
 * An incoherent beam is the sum of the powers of the inputs in its mask: |beam|^2 becomes
 * sum_k |x_k|^2. Of a pair 2m, 2m+1 the k-th input of one mask and the k-th of the other
 * are an antenna: x y* becomes sum_k x_k y_k*. Gains and weights do nothing to them.
 * The kernel takes voltages [frame][channel][input][time].
 */
class beam_power : public detecting_kernel, public weighted_kernel
{
public:
    struct parameters {
        int channels, inputs;
        int beams;      //!< coherent; may be 0 if there are incoherent ones
        int incoherent; //!< incoherent beams: numbers beams ... beams + incoherent - 1
        int spectra_per_frame;
        sample_type input; //!< sc8, sc4 or fc32
        detection detect;
        int all_beams() const { return beams + incoherent; }
        int rows() const { return detect.rows(all_beams()); }
        //! \throws std::invalid_argument
        void check() const;
        //! Masks of a pair have to have as many inputs. \throws std::invalid_argument
        void check_masks(const uint8_t* masks) const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<beam_power> make(const parameters&, const device&);
    //! masks [incoherent beam][input], 0 or 1, checked, in host memory that may go when
    //! this returns, for all frames from the next call on. Zeros at first.
    virtual void set_masks(const uint8_t* masks, stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_BEAM_POWER_BEAM_POWER_H */
