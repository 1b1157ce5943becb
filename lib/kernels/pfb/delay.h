/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_DELAY_H
#define INCLUDED_APERTURE_KERNELS_PFB_DELAY_H

#include <cstdint>

namespace gr::aperture::kernels {

/*!
 * The delay of an input, which aligns it with others. In spectrum m, counted from the one
 * where it was set, the delay is
 *
 *     d(m) = samples + fraction + fraction_rate m    (in samples)
 *
 * and channel k is multiplied by exp(i (phase + phase_rate m - 2 pi (k - n/2) d(m)/L)),
 * with L = n for complex and 2n for real samples. Whole samples are not multiplied: the
 * input is read that many samples earlier, which has the same effect at every frequency.
 */
struct delay {
    int64_t samples;
    double fraction, fraction_rate; //!< samples; samples per spectrum
    double phase, phase_rate;       //!< radians; radians per spectrum, at channel n/2

    //! Returns the same delay, counted from so many spectra later.
    delay after(double spectra) const
    {
        return { samples,
                 fraction + fraction_rate * spectra,
                 fraction_rate,
                 phase + phase_rate * spectra,
                 phase_rate };
    }
};

/*!
 * The rest of a delay when its whole samples were shifted: in spectrum m channel k is
 * multiplied by exp(2 pi i (start(m) + k slope(m))), with start and slope in cycles.
 */
struct phase_slope {
    double start0, start_rate, slope0, slope_rate;
    double start(double m) const { return start0 + m * start_rate; }
    double slope(double m) const { return slope0 + m * slope_rate; }
};

//! \param real whether samples are real
//! \param inverted as in pfb::parameters
phase_slope phase_slope_of(const delay& d, int channels, bool real, bool inverted);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PFB_DELAY_H */
