/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/simulator/source_track.h"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

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
    : d_moving(s.moving), d_path(s.path)
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
        d_delays.push_back(
            { in.cable_delay, std::sqrt(dot(axis, axis)), r, along(axis) });
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

source_track::vector3 source_track::place(double time) const
{
    const auto after = std::upper_bound(
        d_path.begin(), d_path.end(), time, [](double t, const auto& point) {
            return t < point.time;
        });
    const auto& from = after == d_path.begin() ? *after : *std::prev(after);
    vector3 found = from.position;
    if (after == d_path.begin() || after == d_path.end()) {
        for (size_t i = 0; i < 3; i++)
            found[i] += from.velocity[i] * (time - from.time);
        return found;
    }
    const double length = after->time - from.time, u = (time - from.time) / length;
    for (size_t i = 0; i < 3; i++) {
        const double step = after->position[i] - from.position[i];
        const double first = from.velocity[i] * length,
                     last = after->velocity[i] * length;
        found[i] +=
            u *
            (first + u * (3 * step - 2 * first - last + u * (first + last - 2 * step)));
    }
    return found;
}

double source_track::greatest_speed() const
{
    double fastest = 0;
    for (const auto& point : d_path)
        fastest = std::max(fastest, std::sqrt(dot(point.velocity, point.velocity)));
    return fastest;
}

double source_track::least_distance(const vector3& from) const
{
    double least = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < d_path.size(); k++) {
        const auto& point = d_path[k];
        const vector3 place{ point.position[0] - from[0],
                             point.position[1] - from[1],
                             point.position[2] - from[2] };
        const double away = std::sqrt(dot(place, place));
        const double speed = std::sqrt(dot(point.velocity, point.velocity));
        if (k + 1 < d_path.size()) {
            least = std::min(least, away - speed * (d_path[k + 1].time - point.time));
            continue;
        }
        // the straight line comes that near
        const double along = speed > 0 ? dot(place, point.velocity) / speed : 0;
        least = std::min(least,
                         along < 0 ? std::sqrt(std::max(0.0, away * away - along * along))
                                   : away);
    }
    return std::max(least, 0.0);
}

source_track::angle source_track::at(double time) const
{
    if (!d_path.empty())
        return { 1, 0, 1, 0, place(time) };
    return { std::cos(-earth_rate * time),
             std::sin(-earth_rate * time),
             std::cos(d_drift * time),
             std::sin(d_drift * time) };
}

double source_track::delay(size_t input, const angle& a) const
{
    if (!d_path.empty()) {
        // |p - r| - |p| without the loss of the digits that they have in common
        const auto& r = d_delays[input].position;
        const vector3 left{ a.place[0] - r[0], a.place[1] - r[1], a.place[2] - r[2] };
        const double paths =
            std::sqrt(dot(left, left)) + std::sqrt(dot(a.place, a.place));
        return d_delays[input].cable +
               (dot(r, r) - 2 * dot(a.place, r)) / paths / speed_of_light;
    }
    return d_delays[input].cable + d_delays[input].geometric.value(a);
}

bool source_track::above_horizon(const angle& a) const
{
    return d_path.empty() ? d_up.value(a) >= 0 : a.place[2] >= 0;
}

double source_track::mean(size_t input) const
{
    // a source that drifts, or has a path, may reach any direction
    const auto& delay = d_delays[input];
    return delay.cable +
           (d_drift > 0 || !d_path.empty() ? 0 : delay.geometric.start.constant);
}

double source_track::swing(size_t input) const
{
    const auto& delay = d_delays[input];
    return d_drift > 0 || !d_path.empty()
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
    if (!d_path.empty()) {
        // the directions in which an antenna and the origin see it differ by 2 |r|/|p| at
        // most, as unit vectors
        const double least = least_distance({}), fastest = greatest_speed();
        for (const auto& delay : d_delays) {
            const double reach = delay.length * speed_of_light;
            const double bend = least > reach ? 2 * reach / least : 2.0;
            rate = std::max(rate, bend * fastest / speed_of_light);
        }
        return rate;
    }
    for (size_t input = 0; input < d_delays.size(); input++)
        rate = std::max(rate, swing(input) * (earth_rate + d_drift));
    return rate;
}

double source_track::greatest_curvature() const
{
    // the path to a place that is passed at a distance d with a speed v changes by v^2/d
    if (d_path.empty())
        return 0;
    const double speed = greatest_speed();
    double curvature = 0;
    for (const auto& delay : d_delays)
        if (speed > 0)
            curvature = std::max(
                curvature,
                speed * speed / speed_of_light *
                    (1 / least_distance(delay.position) + 1 / least_distance({})));
    return curvature;
}

} // namespace gr::aperture::kernels::host
