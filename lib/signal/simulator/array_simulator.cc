/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/makers.h"
#include "signal/simulator/array_simulator.h"
#include <cmath>
#include <limits>
#include <set>

namespace gr::aperture::kernels {

namespace {

//! NaN is in no interval.
void require_between(const std::string& parameter,
                     double value,
                     double low,
                     double high,
                     const std::string& rule)
{
    require(value >= low && value <= high, parameter, text_of(value), rule);
}

void check_inputs(const array_simulator::parameters& p)
{
    require(!p.inputs.empty(), "inputs", "none", "one at least");
    require_range("inputs", int64_t(p.inputs.size()), 1, 65536);
    require(p.inputs_per_port >= 1 && p.inputs.size() % size_t(p.inputs_per_port) == 0,
            "inputs_per_port",
            std::to_string(p.inputs_per_port),
            "a divisor of the number of inputs, " + std::to_string(p.inputs.size()));
    std::set<std::string> names;
    for (size_t i = 0; i < p.inputs.size(); i++) {
        const auto& in = p.inputs[i];
        const auto place = "inputs[" + std::to_string(i) + "].";
        require(names.insert(in.name).second,
                place + "name",
                "'" + in.name + "'",
                "different from that of every other input");
        // no array on the Earth is larger, and delays stay far from int64's end
        for (const double coordinate : in.position)
            require_between(place + "position",
                            coordinate,
                            -2e7,
                            2e7,
                            "within 2e7 m of the array's origin");
        require(std::isfinite(in.gain.real()) && std::isfinite(in.gain.imag()) &&
                    std::abs(in.gain) <= 1e15,
                place + "gain",
                text_of(in.gain.real()) + " + " + text_of(in.gain.imag()) + "i",
                "a number of magnitude up to 1e15");
        require_between(
            place + "cable_delay", in.cable_delay, -1.0, 1.0, "within 1 s of 0");
    }
}

void check_path(const std::string& place,
                const std::vector<array_simulator::waypoint>& path)
{
    double before = -std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < path.size(); k++) {
        const auto& point = path[k];
        const auto name = place + "path[" + std::to_string(k) + "].";
        require(point.time > before && std::isfinite(point.time),
                name + "time",
                text_of(point.time),
                "seconds, later than those of the waypoint before");
        before = point.time;
        for (const double coordinate : point.position)
            require_between(name + "position",
                            coordinate,
                            -1e12,
                            1e12,
                            "within 1e12 m of the array's origin");
        require(std::hypot(point.position[0], point.position[1], point.position[2]) > 0,
                name + "position",
                "0",
                "away from the array's origin");
        for (const double speed : point.velocity)
            require_between(name + "velocity", speed, -1e5, 1e5, "within 1e5 m/s of 0");
    }
}

void check_sources(const array_simulator::parameters& p)
{
    std::set<std::string> names;
    for (size_t i = 0; i < p.sources.size(); i++) {
        const auto& source = p.sources[i];
        const auto place = "sources[" + std::to_string(i) + "].";
        require(names.insert(source.name).second,
                place + "name",
                "'" + source.name + "'",
                "different from that of every other source");
        require_between(
            place + "azimuth", source.azimuth, -360, 360, "-360 to 360 degrees");
        require_between(
            place + "elevation", source.elevation, -90, 90, "-90 to 90 degrees");
        require_between(place + "flux",
                        source.flux,
                        0,
                        1e15,
                        "0 to 1e15 times the power of the receiver noise");
        double square = 0;
        for (const double rate : source.drift)
            square += rate * rate;
        require_between(place + "drift",
                        std::sqrt(square),
                        0,
                        source.moving ? 1e-3 : 0,
                        source.moving ? "up to 1e-3 rad/s"
                                      : "0 of a source that stands still");
        check_path(place, source.path);
        source.pulses.check(place, p.sample_rate, p.center_frequency);
    }
}

} // namespace

std::unique_ptr<array_simulator> array_simulator::make(const parameters& p,
                                                       const device& where)
{
    check_inputs(p);
    require_between("latitude", p.latitude, -90, 90, "-90 to 90 degrees");
    require_between("sample_rate", p.sample_rate, 1, 1e12, "1 to 1e12 Hz");
    require_between("center_frequency", p.center_frequency, 0, 1e15, "0 to 1e15 Hz");
    check_sources(p);
    kernels::check(p.interference, p.inputs.size(), p.sample_rate);
    require_between("noise_rms", p.noise_rms, 1e-15, 1e15, "1e-15 to 1e15");
    require(p.type == sample_type::fc32 || p.type == sample_type::sc16 ||
                p.type == sample_type::sc8,
            "type",
            name_of(p.type),
            "fc32, sc16 or sc8");
    require(where.type() == device::kind::cpu,
            "device",
            where.name(),
            "cpu: arrays are simulated there only");
    return host::make<array_simulator>(p);
}

} // namespace gr::aperture::kernels
