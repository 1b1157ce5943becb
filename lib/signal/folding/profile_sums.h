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
 * Sums of powers for each phase bin, in double precision, and what was counted. A row is
 * one product of a beam.
 */
class profile_sums
{
public:
    struct parameters {
        int rows, channels, bins;
        int products; //!< rows of a beam
        power_type type;
        //! powers are means of what was counted: they are multiplied with it
        bool mean;
    };
    explicit profile_sums(const parameters& p);

    /*!
     * Adds powers [row][channel] to a bin. A power of f32 that is 0 or NaN is missing, as
     * flagged channels are: noise is never exactly 0.
     * \param counts of each row; of a row with 0 nothing is added
     * \param cells nullptr, or what was counted in each power, [beam][channel], of all
     * products of a beam alike and not above the row's
     */
    void add(const void* powers,
             int bin,
             const std::vector<uint64_t>& counts,
             const uint32_t* cells = nullptr);

    /*!
     * Mean powers and counts (clamped to 32 bits), [row][channel][bin]; then all are 0. A
     * bin in which nothing was counted is 0.
     */
    void dump(float* profile, uint32_t* counts);
    void clear();

private:
    template <typename power>
    void add_row(const power* powers, double factor, double* sums) const;
    //! What is missing in a row is left out, and its count noted.
    template <typename power>
    void
    add_gaps(const power* powers, uint64_t count, const uint32_t* cells, size_t place);
    template <typename power>
    void
    add_powers(const power* powers, uint64_t count, const uint32_t* cells, size_t place);

    const parameters d_p;
    std::vector<double> d_sums;     // [bin][row][channel]
    std::vector<uint64_t> d_counts; // [bin][row]
    std::vector<uint64_t> d_lost;   // [bin][row][channel], of d_counts; none: nothing is
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_SIGNAL_FOLDING_PROFILE_SUMS_H */
