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

//! Weights as a kernel reads them; of that kernel only, which outlives them.
struct prepared_weights {
    virtual ~prepared_weights() = default;
};
using prepared_weights_sptr = std::shared_ptr<const prepared_weights>;

/*!
 * A kernel that makes beams: beamformer and beam_power. There may be a gigabyte of
 * weights. So they are prepared by any thread, beside the kernel's work, and then
 * exchanged, which takes no time.
 */
class weighted_kernel
{
public:
    virtual ~weighted_kernel() = default;

    /*!
     * \param weights [channel][beam][input], in memory that may go when this returns.
     * May take long, and wait for copies to a GPU: not for work(). One thread at a time;
     * waits while there are three already, with those in use.
     */
    virtual prepared_weights_sptr prepare(const cfloat* weights) = 0;
    //! For all frames from the next call on. Zeros at first.
    virtual void use(const prepared_weights_sptr& weights, stream&) = 0;
    //! gains [beam] of the voltages, in host memory that may go when this returns,
    //! likewise. Ones at first.
    virtual void set_gains(const float* gains, stream&) = 0;

    //! Both in one, for those who can wait.
    void set_weights(const cfloat* weights, stream& s) { use(prepare(weights), s); }
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_BEAMFORMER_WEIGHTED_KERNEL_H */
