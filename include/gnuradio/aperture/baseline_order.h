/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BASELINE_ORDER_H
#define INCLUDED_APERTURE_BASELINE_ORDER_H

#include <gnuradio/aperture/api.h>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::aperture {

/*!
 * Brings products of an X-engine, `[channel][product]`, into the order of files of
 * visibilities, `[baseline][channel][polarisation]`, a range of channels at a time: as
 * many as stay in a processor's cache until they are written.
 *
 * A *cell* is a baseline and a polarisation of it.
 */
class APERTURE_API baseline_order
{
public:
    struct cells {
        int64_t products = 0;
        int polarizations = 1;
        //! [baseline][polarisation]: the product of each cell; -1: there is none, and the
        //! cell is 0
        std::vector<int64_t> product;
        //! [baseline][polarisation]: not 0 if the cell is the product's conjugate
        std::vector<uint8_t> conjugate;
        //! [baseline][polarisation]: not 0 if the cell is real: its imaginary part, which
        //! is a rounding error, is multiplied by 0
        std::vector<uint8_t> real;
    };

    //! \throws std::invalid_argument naming the parameter, its value and what is allowed
    explicit baseline_order(const cells& p);

    int64_t products() const { return d_products; }
    int64_t baselines() const { return int64_t(d_product.size()) / d_polarizations; }
    int polarizations() const { return d_polarizations; }

    /*!
     * Orders visibilities.
     *
     * \param from the first of the channels, [channel][product]
     * \param factors what they are multiplied by, of the same shape; nullptr: 1
     * \param to [baseline][channel][polarisation]
     * \returns whether all of them are numbers: neither NaN nor infinite
     */
    bool visibilities(const std::complex<float>* from,
                      const std::complex<float>* factors,
                      int channels,
                      std::complex<float>* to) const;

    /*!
     * Multiplies ordered visibilities by exp(-2 pi i delay frequency).
     *
     * \param delays [baseline], in seconds
     * \param first the first channel's frequency, in Hz
     * \param width from one channel to the next, in Hz
     * \param values [baseline][channel][polarisation]
     */
    void rotate(const double* delays,
                double first,
                double width,
                int channels,
                std::complex<float>* values) const;

    struct found {
        bool all_there;   //!< all fractions are 1
        bool any_flagged; //!< some are 0
    };

    /*!
     * Orders counts of spectra, as fractions of those that there could be.
     *
     * \param from the first of the channels, [channel][product]
     * \param spectra of an integration
     * \param fractions [baseline][channel][polarisation], 0 where there is no product
     * \param flags of the same shape: 1 where the fraction is 0
     */
    found fractions(const uint32_t* from,
                    uint64_t spectra,
                    int channels,
                    float* fractions,
                    uint8_t* flags) const;

private:
    const int64_t d_products;
    const int d_polarizations;
    std::vector<int64_t> d_product;     // [cell], 0 where there is none
    std::vector<uint64_t> d_sign;       // [cell], the bit that is changed
    std::vector<size_t> d_real, d_none; // cells that are real, that have no product
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_BASELINE_ORDER_H */
