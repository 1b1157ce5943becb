/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_AVERAGING_VISIBILITY_AVERAGE_H
#define INCLUDED_APERTURE_KERNELS_AVERAGING_VISIBILITY_AVERAGE_H

#include "kernels/common/types.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <utility>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Averages visibilities [item][channel][product] in time and channels, chosen products of
 * them, into several sums at once: about phase centres, and in gates.
 *
 * A product weighs as many spectra as were counted in it. One that is not a number weighs
 * nothing; where no other was added, the average is not a number either. Sums are of
 * double precision.
 */
class visibility_average
{
public:
    //! The products that an X-engine of so many inputs makes.
    static int64_t all_products(int inputs) { return int64_t(inputs) * (inputs + 1) / 2; }

    struct parameters {
        int channels, inputs; //!< extents of the visibilities
        int summed_channels;  //!< neighbours that become one: a divisor of `channels`
        //! Pairs (a, b) of inputs: V[a,b], which is conj(V[b,a]) where a < b.
        std::vector<std::pair<int, int>> products;
        int centers; //!< phase centres; 0: nothing is rotated
        int gates;   //!< sums of each phase centre, at least 1
        //! True for means of what was counted in them; otherwise they are sums.
        bool mean;
        int sums() const { return (centers > 0 ? centers : 1) * gates; }
        int64_t all() const { return all_products(inputs); }
        int channels_out() const { return channels / summed_channels; }
        //! Returns the products of an average, [channel][product].
        size_t cells() const { return size_t(channels_out()) * products.size(); }
        //! Returns how many items one call takes at most.
        int most_items() const;
        //! \throws std::invalid_argument
        void check() const;
    };

    //! The phase of an input: in channel k of n it is multiplied by
    //! exp(2 pi i (start + (k - n/2) slope)), in cycles.
    struct rotation {
        double start = 0, slope = 0;
    };

    //! Some items in a row, in memory of the host, which may be freed after the call.
    struct items {
        int count;
        //! The spectra counted in each item, [item] or [item][product of the X-engine].
        const uint32_t* counted;
        bool by_product;
        //! [item][sum] 0 where the item does not belong to it; sums are
        //! [phase centre][gate].
        const uint8_t* used;
        const rotation* rotations; //!< [item][phase centre][input]; nullptr: no centres
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<visibility_average> make(const parameters&, const device&);
    virtual ~visibility_average() = default;
    virtual std::string implementation() const = 0;

    /*!
     * Adds visibilities [item][channel][product], at most most_items() of them.
     * \param counts nullptr, or the spectra counted in each [item][channel][product],
     * which then stand for `counted`
     */
    virtual void accumulate(const cfloat* visibilities,
                            const uint32_t* counts,
                            const items&,
                            stream&) = 0;
    /*!
     * Writes the average of a sum, [channel][product], 0 where nothing was counted, and
     * the spectra that were; then both are zero.
     * \param counts nullptr, or [channel][product], fewer than 2^32 of each
     */
    virtual void dump(int sum, cfloat* average, uint32_t* counts, stream&) = 0;
    //! Sets all sums to zero.
    virtual void clear(stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_AVERAGING_VISIBILITY_AVERAGE_H */
