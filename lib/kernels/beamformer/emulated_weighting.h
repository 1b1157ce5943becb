/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_EMULATED_WEIGHTING_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_EMULATED_WEIGHTING_H

#include "kernels/beamformer/weighted_kernel.h"
#include "kernels/common/masked.h"
#include "runtime/host_stream.h"
#include <memory>
#include <vector>

namespace gr::aperture::kernels::emulated {

//! The part of beamformer and beam_power that both have, around that of the host.
inline void use_on(stream& s,
                   const std::shared_ptr<weighted_kernel>& host,
                   const prepared_weights_sptr& weights)
{
    run_on(s, [host, weights] {
        host_stream own;
        host->use(weights, own);
    });
}

//! \param gains [beam]
inline void set_gains_on(stream& s,
                         const std::shared_ptr<weighted_kernel>& host,
                         const float* gains,
                         int beams)
{
    run_on(s, [host, kept = std::vector<float>(gains, gains + beams)] {
        host_stream own;
        host->set_gains(kept.data(), own);
    });
}

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_EMULATED_WEIGHTING_H */
