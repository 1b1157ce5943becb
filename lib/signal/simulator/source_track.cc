/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/simulator/source_track.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::host {

namespace {

using vector3 = std::array<double, 3>;

constexpr double speed_of_light = 299792458.0; // m/s
// IERS Conventions 2010, 5.15: 1.00273781191135448 revolutions in 86400 s of UT1
constexpr double earth_rate = 2 * M_PI * 1.00273781191135448 / 86400; // rad/s
constexpr double degree = M_PI / 180;

double dot(const vector3& a, const vector3& b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

vector3 cross(const vector3& a, const vector3& b)
{
    return { a[1] * b[2] - a[2] * b[1],
             a[2] * b[0] - a[0] * b[2],
             a[0] * b[1] - a[1] * b[0] };
}

} // namespace

source_track::source_track(const array_simulator::parameters& p,
                           const array_simulator::source& s)
    : d_moving(s.moving)
{
    const double az = s.azimuth * degree, el = s.elevation * degree;
    d_pole = { 0, std::cos(p.latitude * degree), std::sin(p.latitude * degree) };
    d_start = { std::cos(el) * std::sin(az), std::cos(el) * std::cos(az), std::sin(el) };
    // a component along the direction is rounding, or the caller's error
    const double inwards = dot(s.drift, d_start);
    for (size_t i = 0; i < 3; i++)
        d_towards[i] = s.drift[i] - inwards * d_start[i];
    d_drift = std::sqrt(dot(d_towards, d_towards));
    for (double& component : d_towards)
        component = d_drift > 0 ? component / d_drift : 0;
    for (const auto& in : p.inputs) {
        const auto& r = in.position;
        const vector3 axis{ -r[0] / speed_of_light,
                            -r[1] / speed_of_light,
                            -r[2] / speed_of_light };
        d_delays.push_back({ in.cable_delay, std::sqrt(dot(axis, axis)), along(axis) });
    }
    d_up = along({ 0, 0, 1 });
}

source_track::projection source_track::along(const vector3& axis) const
{
    const auto of = [&](const vector3& direction) {
        const double whole = dot(axis, direction);
        // the direction of a source that stands still is along the pole
        if (!d_moving)
            return terms{ whole, 0, 0 };
        const double constant = dot(axis, d_pole) * dot(d_pole, direction);
        return terms{ constant, whole - constant, dot(axis, cross(d_pole, direction)) };
    };
    return { of(d_start), of(d_towards) };
}

source_track::angle source_track::at(double time) const
{
    return { std::cos(-earth_rate * time),
             std::sin(-earth_rate * time),
             std::cos(d_drift * time),
             std::sin(d_drift * time) };
}

double source_track::delay(size_t input, const angle& a) const
{
    return d_delays[input].cable + d_delays[input].geometric.value(a);
}

bool source_track::above_horizon(const angle& a) const { return d_up.value(a) >= 0; }

double source_track::mean(size_t input) const
{
    // a source that drifts may reach any direction
    const auto& delay = d_delays[input];
    return delay.cable + (d_drift > 0 ? 0 : delay.geometric.start.constant);
}

double source_track::swing(size_t input) const
{
    const auto& delay = d_delays[input];
    return d_drift > 0
               ? delay.length
               : std::hypot(delay.geometric.start.cosine, delay.geometric.start.sine);
}

double source_track::least_delay(size_t input) const
{
    return mean(input) - swing(input);
}

double source_track::greatest_delay(size_t input) const
{
    return mean(input) + swing(input);
}

double source_track::greatest_rate() const
{
    double rate = 0;
    for (size_t input = 0; input < d_delays.size(); input++)
        rate = std::max(rate, swing(input) * (earth_rate + d_drift));
    return rate;
}

} // namespace gr::aperture::kernels::host
