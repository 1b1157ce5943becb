/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_H

#include "kernels/beamformer/weighted_kernel.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Forms beams: y_m(t) = gain_m sum_i w[m,i] x_i(t) in each channel. Nothing is
 * conjugated. A beam of some inputs only has zero weights for the others.
 */
class beamformer : public weighted_kernel
{
public:
    struct parameters {
        int channels, inputs, beams, spectra_per_frame;
        sample_type input;  //!< sc8, sc4 or fc32
        sample_type output; //!< fc32, or sc8: rounded half to even, clamped to +-127
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<beamformer> make(const parameters&, const device&);
    virtual std::string implementation() const = 0;

    //! Makes beams [frame][channel][beam][time] of voltages
    //! [frame][channel][input][time].
    virtual void execute(const void* voltages, void* beams, int frames, stream&) = 0;

    //! Returns, for each beam, the complex samples so far that did not fit into sc8.
    virtual std::vector<uint64_t> clamped() const = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_BEAMFORMER_H */
