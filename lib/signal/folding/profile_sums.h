/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_FOLDING_PROFILE_SUMS_H
#define INCLUDED_APERTURE_SIGNAL_FOLDING_PROFILE_SUMS_H

#include "kernels/common/power_type.h"
#include <cstdint>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Sums of powers for each phase bin, in double precision, and counts of spectra. A row is
 * one product of a beam.
 */
class profile_sums
{
public:
    struct parameters {
        int rows, channels, bins;
        int products; //!< rows of a beam
        power_type type;
        //! True if powers are divided by their counts: they are multiplied with these.
        bool mean;
        //! True if a power of f32 that is 0 is one, and not missing.
        bool zeros = false;
    };
    explicit profile_sums(const parameters& p);

    /*!
     * Adds powers [row][channel] to a bin. A power of f32 that is 0 or NaN is missing, as
     * flagged channels are: noise is never exactly 0, but in files of few bits, which
     * `zeros` is for.
     * \param counts count of each row; a row with 0 is not added
     * \param cells nullptr, or the count of each power, [beam][channel], the same for all
     * products of a beam and not above the row's
     */
    void add(const void* powers,
             int bin,
             const std::vector<uint64_t>& counts,
             const uint32_t* cells = nullptr);

    /*!
     * Writes mean powers and counts (clamped to 32 bits), [row][channel][bin]; then all
     * sums are 0. A bin with a count of 0 is 0.
     */
    void dump(float* profile, uint32_t* counts);
    void clear();

private:
    template <typename power>
    void add_row(const power* powers, double factor, double* sums) const;
    //! Adds the powers of a row that are not missing, and counts the others.
    template <typename power>
    void
    add_gaps(const power* powers, uint64_t count, const uint32_t* cells, size_t place);
    template <typename power>
    void
    add_powers(const power* powers, uint64_t count, const uint32_t* cells, size_t place);

    const parameters d_p;
    std::vector<double> d_sums;     // [bin][row][channel]
    std::vector<uint64_t> d_counts; // [bin][row]
    std::vector<uint64_t>
        d_lost; // [bin][row][channel], missing part of d_counts; empty: none
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_SIGNAL_FOLDING_PROFILE_SUMS_H */
