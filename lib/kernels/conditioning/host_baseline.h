/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CONDITIONING_HOST_BASELINE_H
#define INCLUDED_APERTURE_KERNELS_CONDITIONING_HOST_BASELINE_H

#include "kernels/conditioning/conditioning.h"
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels::host {

//! Mean and variance of columns of values in time, as far as segments agree about them.
class baseline
{
public:
    //! \param columns of values, those of one beam after those of the other
    //! \param segment items of a whole segment \param segments that are looked at
    baseline(int beams, int columns, int segment, int segments);

    /*!
     * The next segment.
     * \param values [item][beam][column]; what is not finite is left out
     * \param present [item][beam], 0: left out; nullptr: all are there
     */
    void add(const float* values, int items, const uint8_t* present);
    void clear();

    //! [beam][column], at the newest segment; a variance below 0: not known
    const std::vector<conditioning::moments>& moments() const { return d_moments; }
    //! Items at most that it was taken from.
    int64_t items() const;

private:
    void first_references(const float* values, int items, const uint8_t* present);

    const int d_beams, d_columns, d_segment, d_segments;
    int64_t d_added = 0;                          // segments
    std::vector<float> d_references, d_limits;    // see conditioning::reference
    std::vector<conditioning::moments> d_history; // [segment][beam][column]
    std::vector<conditioning::moments> d_moments;
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_CONDITIONING_HOST_BASELINE_H */
