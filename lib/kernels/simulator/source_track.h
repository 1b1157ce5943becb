/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_SIMULATOR_SOURCE_TRACK_H
#define INCLUDED_APERTURE_KERNELS_SIMULATOR_SOURCE_TRACK_H

#include "kernels/simulator/array_simulator.h"
#include <vector>

namespace gr::aperture::kernels::host {

/*!
 * Delays of a source at every input as it crosses the sky. Its direction s turns about
 * the pole p = (0, cos latitude, sin latitude) by the angle a = -(Earth's rate) t: s(t) =
 * p (p.s) + (s - p (p.s)) cos a + (p x s) sin a, and so do the delays -r.s/c = constant +
 * cosine cos a + sine sin a.
 */
class source_track
{
public:
    source_track(const array_simulator::parameters& p, const array_simulator::source& s);

    //! How far the sky has rotated.
    struct angle {
        double cosine, sine;
    };

    bool moving() const { return d_moving; }
    //! \param time since the first sample, s; may be negative
    angle at(double time) const;
    //! s, with the input's cable
    double delay(size_t input, const angle& a) const;
    bool above_horizon(const angle& a) const;

    //! Limits of the delay over all time, s.
    double least_delay(size_t input) const;
    double greatest_delay(size_t input) const;
    //! The fastest that any input's delay changes, s/s.
    double greatest_rate() const;

private:
    struct terms {
        double constant, cosine, sine;
        double swing() const;
        double value(const angle& a) const
        {
            return constant + cosine * a.cosine + sine * a.sine;
        }
    };
    const bool d_moving;
    std::vector<terms> d_delays; //!< [input]
    terms d_up;
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_SIMULATOR_SOURCE_TRACK_H */
