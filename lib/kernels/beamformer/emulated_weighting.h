/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_EMULATED_WEIGHTING_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_EMULATED_WEIGHTING_H

#include "kernels/beamformer/weighted_kernel.h"
#include "kernels/common/emulated_kernel.h"

namespace gr::aperture::kernels::emulated {

//! The part of beamformer and beam_power that both have. `Base` is an emulated_kernel.
template <class Base>
class emulated_weighting : public Base
{
public:
    using Base::Base;

    prepared_weights_sptr prepare(const cfloat* weights) override
    {
        return this->d_host->prepare(weights);
    }
    void use(const prepared_weights_sptr& weights, stream& s) override
    {
        this->run(s, &weighted_kernel::use, weights);
    }
    void set_gains(const float* gains, stream& s) override
    {
        this->run(s, &weighted_kernel::set_gains, kept(gains, this->d_p.beams));
    }
};

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_EMULATED_WEIGHTING_H */
