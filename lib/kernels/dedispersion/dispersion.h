/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_DEDISPERSION_DISPERSION_H
#define INCLUDED_APERTURE_KERNELS_DEDISPERSION_DISPERSION_H

#include "common/number_text.h"
#include "kernels/common/types.h"
#include <cmath>
#include <cstdint>
#include <limits>

namespace gr::aperture::kernels {

/*!
 * K of the cold plasma's delay K DM / f^2, in s MHz^2 cm^3 / pc: 1 / 2.41e-4 by the
 * convention of pulsar timing (Manchester and Taylor 1972), of which all published
 * dispersion measures are multiples, and not the value from the electron's charge and
 * mass, which is 1.4e-4 of it smaller.
 */
inline constexpr double dispersion_constant = 1e4 / 2.41;

/*!
 * Returns the seconds by which a signal at `frequency` (Hz) arrives after one at
 * `reference` (Hz), at a dispersion measure in pc/cm^3. Negative where the reference is
 * the lower one.
 */
inline double dispersion_delay(double dm,
                               double frequency,
                               double reference = std::numeric_limits<double>::infinity())
{
    const double f = frequency * 1e-6, r = reference * 1e-6;
    return dispersion_constant * dm * (1 / (f * f) - 1 / (r * r));
}

/*!
 * The band of [channel], in order of increasing frequency. rx_freq is the centre of
 * channel channels / 2. Delays refer to the centre of the highest channel.
 */
struct dispersed_band {
    int channels;
    double center_frequency; //!< Hz
    double bandwidth;        //!< Hz, of all channels

    //! Returns the centre of a channel, Hz.
    double frequency(int channel) const
    {
        return center_frequency + (channel - channels / 2) * (bandwidth / channels);
    }
    double reference_frequency() const { return frequency(channels - 1); }

    //! Returns the delay after the highest channel, s.
    double delay(double dm, int channel) const
    {
        return dispersion_delay(dm, frequency(channel), reference_frequency());
    }
    //! Returns the delay in items of `sample_time` seconds, rounded half to even.
    int64_t rounded_delay(double dm, int channel, double sample_time) const
    {
        return std::llrint(delay(dm, channel) / sample_time);
    }

    //! \throws std::invalid_argument
    void check() const
    {
        require_range("channels", channels, 1, 1 << 24);
        require(std::isfinite(bandwidth) && bandwidth > 0,
                "bandwidth",
                text_of(bandwidth),
                "more than 0 Hz");
        require(std::isfinite(center_frequency) &&
                    frequency(0) - bandwidth / channels / 2 > 0,
                "center_frequency",
                text_of(center_frequency),
                "such that all of the band of " + text_of(bandwidth) +
                    " Hz is above 0 Hz");
    }
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_DEDISPERSION_DISPERSION_H */
