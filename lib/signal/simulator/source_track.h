/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_SIMULATOR_SOURCE_TRACK_H
#define INCLUDED_APERTURE_SIGNAL_SIMULATOR_SOURCE_TRACK_H

#include "signal/simulator/array_simulator.h"
#include <vector>

namespace gr::aperture::kernels::host {

/*!
 * Computes the delays of a source at every input as it crosses the sky. Among the stars
 * it drifts on a great circle, from its direction s at the first sample towards u, by the
 * angle b = |drift| t; with them it rotates about the pole p = (0, cos latitude, sin
 * latitude) by the angle a = -(Earth's rate) t: s(t) = R(a) (s cos b + u sin b), with
 * R(a) s = p (p.s) + (s - p (p.s)) cos a + (p x s) sin a, and so do the delays -r.s/c,
 * each of whose two parts is constant + cosine cos a + sine sin a.
 *
 * A source with a path is at p(t), a cubic between two waypoints that has their
 * positions and velocities (Hermite), and a straight line before the first and after the
 * last; its delays are the differences of paths, (|p - r| - |p|)/c.
 */
class source_track
{
public:
    source_track(const array_simulator::parameters& p, const array_simulator::source& s);

    //! Angles by which the sky has rotated, and the source drifted.
    struct angle {
        double cosine, sine, drift_cosine, drift_sine;
        std::array<double, 3> place = {}; //!< if it has a path, m
    };

    bool moving() const { return d_moving || !d_path.empty(); }
    //! \param time since the first sample, s; may be negative
    angle at(double time) const;
    //! Returns the delay in s, with the input's cable.
    double delay(size_t input, const angle& a) const;
    bool above_horizon(const angle& a) const;

    //! Return the limits of the delay over all time, s.
    double least_delay(size_t input) const;
    double greatest_delay(size_t input) const;
    //! Returns the fastest change of any input's delay, s/s.
    double greatest_rate() const;
    //! Returns a bound of the change of that rate for a source with a path, s/s^2, which
    //! may be infinite.
    double greatest_curvature() const;

private:
    using vector3 = std::array<double, 3>;
    struct terms {
        double constant, cosine, sine;
        double value(const angle& a) const
        {
            return constant + cosine * a.cosine + sine * a.sine;
        }
    };
    //! The projections of s and of u, for a quantity that is linear in the direction.
    struct projection {
        terms start, drift;
        double value(const angle& a) const
        {
            return start.value(a) * a.drift_cosine + drift.value(a) * a.drift_sine;
        }
    };
    //! Bounds of a part of a path, which lies within `away` of start + [0, longest]
    //! chord.
    struct stretch {
        vector3 start, chord;
        double longest;
        double speed = 0, acceleration = 0; //!< the greatest, m/s, m/s^2
        double away = 0;                    //!< m

        //! Returns the distance of a place from that line, m.
        double distance(const vector3& from) const;
    };
    std::vector<stretch> stretches() const;
    //! Returns where a source with a path is.
    vector3 place(double time) const;
    //! Returns a distance, m, that a source with a path keeps from a place at least.
    double least_distance(const vector3& from) const;
    //! Returns a bound of the speed of a source with a path, m/s.
    double greatest_speed() const;
    //! Returns a bound of the difference of the unit vectors towards which the origin and
    //! an antenna see a source with a path: 2 |r|/|p|.
    double greatest_bend(size_t input) const;
    //! Returns the projection of the direction on `axis`.
    projection along(const vector3& axis) const;
    //! Returns the largest difference of a delay from its mean, s.
    double swing(size_t input) const;
    double mean(size_t input) const;

    struct path {
        double cable;     //!< delay of the cable, s
        double length;    //!< distance from the origin, s
        vector3 position; //!< m
        projection geometric;
    };
    const bool d_moving;
    vector3 d_pole, d_start, d_towards;
    double d_drift;             //!< rad/s
    std::vector<path> d_delays; //!< [input]
    projection d_up;
    const std::vector<array_simulator::waypoint> d_path;
    const std::vector<stretch> d_stretches;
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_SOURCE_TRACK_H */
