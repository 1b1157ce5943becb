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

vector3 operator*(double a, const vector3& b) { return { a * b[0], a * b[1], a * b[2] }; }

vector3 operator+(const vector3& a, const vector3& b)
{
    return { a[0] + b[0], a[1] + b[1], a[2] + b[2] };
}

vector3 operator-(const vector3& a, const vector3& b) { return a + -1.0 * b; }

double norm(const vector3& a) { return std::sqrt(dot(a, a)); }

} // namespace

source_track::source_track(const array_simulator::parameters& p,
                           const array_simulator::source& s)
    : d_moving(s.moving), d_path(s.path), d_stretches(stretches())
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

double source_track::stretch::distance(const vector3& from) const
{
    const vector3 to = from - start;
    const double square = dot(chord, chord);
    const double part =
        square > 0 ? std::clamp(dot(to, chord) / square, 0.0, longest) : 0.0;
    return norm(to - part * chord);
}

std::vector<source_track::stretch> source_track::stretches() const
{
    std::vector<stretch> all;
    if (d_path.empty())
        return all;
    const auto &begin = d_path.front(), &end = d_path.back();
    // straight lines before the first waypoint, where samples are, and after the last one
    all.push_back({ begin.position,
                    -1.0 * begin.velocity,
                    std::max(0.0, begin.time),
                    norm(begin.velocity) });
    all.push_back({ end.position,
                    end.velocity,
                    std::numeric_limits<double>::infinity(),
                    norm(end.velocity) });
    for (size_t k = 0; k + 1 < d_path.size(); k++) {
        const auto &from = d_path[k], &to = d_path[k + 1];
        const double length = to.time - from.time;
        const auto &first = from.velocity, &last = to.velocity;
        const vector3 chord = to.position - from.position;
        const vector3 average = (1 / length) * chord;
        // a cubic lies within its control points, and its derivatives within theirs
        stretch s{ from.position, chord, 1 };
        s.speed =
            std::max({ norm(first), norm(3.0 * average - first - last), norm(last) });
        s.acceleration = std::max(norm(6.0 * average - 4.0 * first - 2.0 * last),
                                  norm(2.0 * first + 4.0 * last - 6.0 * average)) /
                         length;
        s.away = std::max(s.distance(from.position + length / 3 * first),
                          s.distance(to.position - length / 3 * last));
        all.push_back(s);
    }
    return all;
}

double source_track::greatest_speed() const
{
    double fastest = 0;
    for (const auto& s : d_stretches)
        fastest = std::max(fastest, s.speed);
    return fastest;
}

double source_track::least_distance(const vector3& from) const
{
    double least = std::numeric_limits<double>::infinity();
    for (const auto& s : d_stretches)
        least = std::min(least, s.distance(from) - s.away);
    return std::max(least, 0.0);
}

double source_track::greatest_bend(size_t input) const
{
    const double least = least_distance({});
    const double reach = d_delays[input].length * speed_of_light;
    return least > reach ? std::min(2.0, 2 * reach / least) : 2.0;
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
    for (size_t input = 0; input < d_delays.size(); input++)
        rate = std::max(rate,
                        d_path.empty()
                            ? swing(input) * (earth_rate + d_drift)
                            : greatest_bend(input) * greatest_speed() / speed_of_light);
    return rate;
}

double source_track::greatest_curvature() const
{
    // the path to a place that is passed at a distance d with a speed v changes by v^2/d
    const double speed = greatest_speed();
    double acceleration = 0, curvature = 0;
    for (const auto& s : d_stretches)
        acceleration = std::max(acceleration, s.acceleration);
    for (size_t input = 0; input < d_delays.size() && !d_path.empty(); input++) {
        const double near = least_distance(d_delays[input].position);
        const double passing =
            speed > 0 ? speed * speed * (1 / near + 1 / least_distance({})) : 0;
        curvature = std::max(
            curvature, (passing + greatest_bend(input) * acceleration) / speed_of_light);
    }
    return curvature;
}

} // namespace gr::aperture::kernels::host
