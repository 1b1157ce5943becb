/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_PROTOTYPE_H
#define INCLUDED_APERTURE_KERNELS_PFB_PROTOTYPE_H

#include <string>
#include <vector>

namespace gr::aperture::kernels {

//! Makes pfb_prototype(); `hop` is n for complex samples and 2n for real ones.
std::vector<float> prototype(int hop, int taps, const std::string& window);

//! The response of a channel to a tone, in power, by the tone's place in the channel.
class prototype_response
{
public:
    //! \param length points of the transform, which are the coefficients of a tap
    prototype_response(const std::vector<float>& prototype, int length);
    //! \param spacings distance of the tone from the channel's middle, in channels
    double power(double spacings) const;

private:
    std::vector<double> d_sums, d_places; // places in spacings^-1
};

/*!
 * Returns the power that aliases into the middle +-1/2 spacing of a channel, in dB of the
 * power that belongs there, both of white noise: spectra every `hop` samples cannot tell
 * frequencies from others that are multiples of their rate apart.
 * \param length points of the transform
 */
double alias_of(const std::vector<float>& prototype, int length, int hop);

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PFB_PROTOTYPE_H */
