/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_ZOOM_ZOOM_FILTER_H
#define INCLUDED_APERTURE_KERNELS_ZOOM_ZOOM_FILTER_H

#include <cstdint>
#include <vector>

namespace gr::aperture::kernels {

//! A low-pass filter of linear phase, of which every `decimation`-th result is kept.
struct zoom_stage {
    int decimation;
    std::vector<float> taps; //!< an odd number, symmetric
};

//! Stages of filters, one behind the other, which decimate a band.
struct zoom_filter {
    std::vector<zoom_stage> stages;
    double ripple;      //!< dB, from the least to the largest gain within the passband
    double attenuation; //!< dB, at least, of whatever aliases into the passband
};

/*!
 * Designs the filters of a zoom: windowed sincs with Kaiser's window, by his formulas for
 * the number of taps and beta, in one, two or three stages, whichever takes the fewest
 * multiplications. The gain at frequency 0 is 1.
 *
 * Only what aliases into the passband is attenuated: between the passband's edge and that
 * of the output's band lies a transition, into which its mirror image aliases.
 *
 * \param decimation 2 to 4096 \param passband part of the output's band, 0.1 to 0.95
 */
zoom_filter design_zoom_filter(int decimation, double passband);

//! Returns the product of the stages' decimations.
inline int decimation_of(const std::vector<zoom_stage>& stages)
{
    int product = 1;
    for (const auto& s : stages)
        product *= s.decimation;
    return product;
}
//! Returns the samples under all stages together.
inline int64_t length_of(const std::vector<zoom_stage>& stages)
{
    int64_t length = 1, hop = 1;
    for (const auto& s : stages) {
        length += (int64_t(s.taps.size()) - 1) * hop;
        hop *= s.decimation;
    }
    return length;
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_ZOOM_ZOOM_FILTER_H */
