/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_MASK_COUNTS_MASK_COUNTS_H
#define INCLUDED_APERTURE_KERNELS_MASK_COUNTS_MASK_COUNTS_H

#include "kernels/masks/mask.h"
#include "kernels/masks/missing_spectra.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>

namespace gr::aperture::kernels {

/*!
 * Counts what an X-engine sums: for each product a, b of inputs the spectra in which
 * neither a nor b is flagged or missing, exactly; or those of each input by itself.
 *
 * With L_a the spectra that a lacks, the count of N spectra is
 * N - |L_a u L_b| = N - |L_a| - |L_b| + |L_a n L_b|. Only intersections are summed, and
 * in a channel only those of inputs that lack any spectra there: for channels without
 * flags only masks are read.
 */
class mask_counts
{
public:
    struct parameters {
        mask_layout mask;
        bool products; //!< counts [channel][product]; else [channel][input]
        int64_t per_channel() const
        {
            return products ? int64_t(mask.inputs) * (mask.inputs + 1) / 2 : mask.inputs;
        }
        size_t size() const { return size_t(mask.channels) * per_channel(); }
        //! \throws std::invalid_argument
        void check() const;
    };

    //! \throws std::invalid_argument; picks the implementation
    static std::unique_ptr<mask_counts> make(const parameters&, const device&);
    virtual ~mask_counts() = default;
    virtual std::string implementation() const = 0;

    /*!
     * Adds all spectra of the frames except those that are flagged or missing, by masks
     * [frame][channel][input][byte].
     * \param missing missing spectra of these frames, or empty; may be freed when this
     * returns
     */
    virtual void accumulate(const void* masks,
                            int frames,
                            const missing_spectra& missing,
                            stream&) = 0;

    //! Writes the counts of fewer than 2^32 spectra; then they are zero.
    virtual void dump(uint32_t* counts, stream&) = 0;
    //! Sets the counts to zero.
    virtual void clear(stream&) = 0;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_MASK_COUNTS_MASK_COUNTS_H */
