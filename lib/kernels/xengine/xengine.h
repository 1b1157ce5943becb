/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_XENGINE_H
#define INCLUDED_APERTURE_KERNELS_XENGINE_XENGINE_H

#include "kernels/common/types.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>

namespace gr::aperture::kernels {

//! Correlates: V[a,b] = sum_t x_a(t) conj(x_b(t)), a >= b, product a(a+1)/2 + b.
class xengine
{
public:
    struct parameters {
        int channels, inputs, spectra_per_frame;
        sample_type type; //!< sc8, sc4 or fc32
        int64_t products() const { return int64_t(inputs) * (inputs + 1) / 2; }
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<xengine> make(const parameters&, const device&);
    virtual ~xengine() = default;
    virtual std::string implementation() const = 0;

    /*!
     * Adds the products of voltages [frame][channel][input][time] to the running sums.
     *
     * Sums of sc8 and sc4 are exact below 2^63: for 2^48 spectra, that is for 2.8e8 s at
     * 1 MHz. Products of fc32 are summed in single precision over at most 1024 times,
     * these sums in double precision: the components of a sum are wrong by at most 3.2e-5
     * of the sum of |x_a| |x_b|, for noise by at most 1e-6 of it.
     */
    virtual void accumulate(const void* voltages, int frames, stream&) = 0;

    //! Converts sums to visibilities [channel][product] = float(double(sum)
    //! scale[product]); then the sums are zero. `scales` has one element for all
    //! products, or one each.
    virtual void
    dump(cfloat* visibilities, const double* scales, size_t scale_count, stream&) = 0;

    //! Does the same with the scale 1 / count of each: counts [channel][product], in
    //! memory of the device; 0 where that is 0.
    virtual void dump_means(cfloat* visibilities, const uint32_t* counts, stream&) = 0;

    //! Sets the sums to zero.
    virtual void clear(stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_XENGINE_H */
