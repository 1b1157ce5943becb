/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_ZOOM_OSCILLATOR_H
#define INCLUDED_APERTURE_KERNELS_ZOOM_OSCILLATOR_H

#include <cstdint>

namespace gr::aperture::kernels {

//! A phase in units of 2^-128 cycles, whole cycles left out.
struct phase128 {
    uint64_t high, low;
};

/*!
 * An oscillator whose phase is computed from the number of the sample, and not from that
 * of the sample before: it does not depend on how a stream is cut. In sample n it is n
 * times a step that is the quotient of frequency and rate, as the doubles that they are,
 * rounded to 2^-128 cycles: in 2^63 samples the phase is wrong by at most 2^-66 cycles.
 */
class oscillator
{
public:
    oscillator() = default;
    /*!
     * \param frequency Hz, within +-rate
     * \param rate samples a second, above 0
     * \param quarters quarters of the rate that are added to the frequency
     */
    oscillator(double frequency, double rate, int quarters = 0);

    phase128 step() const { return d_step; }
    phase128 phase(int64_t sample) const;
    //! Returns the phase in cycles, -1/2 to 1/2.
    double cycles(int64_t sample) const
    {
        return double(int64_t(phase(sample).high)) * 0x1p-64;
    }

private:
    phase128 d_step{ 0, 0 };
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_ZOOM_OSCILLATOR_H */
