/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_BEAMFORMER_WEIGHTED_KERNEL_H
#define INCLUDED_APERTURE_KERNELS_BEAMFORMER_WEIGHTED_KERNEL_H

#include "kernels/common/types.h"
#include <gnuradio/aperture/device/stream.h>
#include <memory>

namespace gr::aperture::kernels {

//! Weights as a kernel reads them; only for that kernel, which outlives them.
struct prepared_weights {
    virtual ~prepared_weights() = default;
};
using prepared_weights_sptr = std::shared_ptr<const prepared_weights>;

/*!
 * Interface of kernels that make beams: beamformer and beam_power. There may be a
 * gigabyte of weights: any thread prepares them, beside the kernel's work, and they are
 * then exchanged in no time.
 */
class weighted_kernel
{
public:
    virtual ~weighted_kernel() = default;

    /*!
     * Prepares weights. It may take long, and wait for copies to a GPU: not for work().
     * One thread at a time may call it; it waits while there are three already, with
     * those in use.
     * \param weights [channel][beam][input], in memory that may be freed when this
     * returns
     */
    virtual prepared_weights_sptr prepare(const cfloat* weights) = 0;
    //! Uses the weights for all frames from the next call on. They are zeros at first.
    virtual void use(const prepared_weights_sptr& weights, stream&) = 0;
    //! Sets gains [beam] of the voltages for all frames from the next call on, in host
    //! memory that may be freed when this returns. They are ones at first.
    virtual void set_gains(const float* gains, stream&) = 0;

    //! Prepares and uses weights, for callers that can wait.
    void set_weights(const cfloat* weights, stream& s) { use(prepare(weights), s); }
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_WEIGHTED_KERNEL_H */
