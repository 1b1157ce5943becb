/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/simulator/source_track.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::host {

namespace {

using vector3 = std::array<double, 3>;

constexpr double speed_of_light = 299792458.0; // m/s
// IERS Conventions 2010, 5.15: 1.00273781191135448 turns in 86400 s of UT1
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
    const vector3 start{ std::cos(el) * std::sin(az),
                         std::cos(el) * std::cos(az),
                         std::sin(el) };
    // a source that stands still is one whose direction is all along the axis
    vector3 along = start, across{}, rotated{};
    if (d_moving) {
        const vector3 pole{ 0,
                            std::cos(p.latitude * degree),
                            std::sin(p.latitude * degree) };
        for (size_t i = 0; i < 3; i++) {
            along[i] = pole[i] * dot(pole, start);
            across[i] = start[i] - along[i];
        }
        rotated = cross(pole, start);
    }
    for (const auto& in : p.inputs)
        d_delays.push_back({ in.cable_delay - dot(in.position, along) / speed_of_light,
                             -dot(in.position, across) / speed_of_light,
                             -dot(in.position, rotated) / speed_of_light });
    d_up = { along[2], across[2], rotated[2] };
}

double source_track::terms::swing() const { return std::hypot(cosine, sine); }

source_track::angle source_track::at(double time) const
{
    return { std::cos(-earth_rate * time), std::sin(-earth_rate * time) };
}

double source_track::delay(size_t input, const angle& a) const
{
    return d_delays[input].value(a);
}

bool source_track::above_horizon(const angle& a) const { return d_up.value(a) >= 0; }

double source_track::least_delay(size_t input) const
{
    return d_delays[input].constant - d_delays[input].swing();
}

double source_track::greatest_delay(size_t input) const
{
    return d_delays[input].constant + d_delays[input].swing();
}

double source_track::greatest_rate() const
{
    double rate = 0;
    for (const auto& delay : d_delays)
        rate = std::max(rate, delay.swing() * earth_rate);
    return rate;
}

} // namespace gr::aperture::kernels::host
