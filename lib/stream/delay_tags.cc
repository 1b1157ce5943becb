/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "stream/delay_tags.h"
#include "stream/message_text.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture {

namespace {

enum part { delay, delay_rate, phase, phase_rate }; // in the order of delay_keys
constexpr double two_pi = 6.283185307179586476925;

} // namespace

delay_tags::delay_tags(int ports, int inputs_per_port, double shift, bool inverted)
    : d_inputs_per_port(inputs_per_port),
      d_shift(shift),
      d_sign(inverted ? -1 : 1),
      d_ports(ports)
{
    clear();
}

void delay_tags::clear()
{
    for (auto& port : d_ports) {
        port = {};
        port.models.resize(d_inputs_per_port);
    }
}

void delay_tags::move(int64_t ticks)
{
    for (auto& port : d_ports) {
        std::multimap<int64_t, change> moved;
        for (auto& [tick, c] : port.waiting)
            moved.emplace(tick + ticks, std::move(c));
        port.waiting = std::move(moved);
        for (auto& m : port.models)
            m.tick += ticks;
    }
}

bool delay_tags::read(int port, int64_t tick, const gr::tag_t& tag)
{
    const std::string name = pmt::symbol_to_string(tag.key);
    const auto found = std::find(std::begin(delay_keys), std::end(delay_keys), name);
    if (found == std::end(delay_keys))
        return false;
    require(pmt::is_f64vector(tag.value) &&
                pmt::length(tag.value) == size_t(d_inputs_per_port),
            name,
            text_of(tag.value),
            "an f64vector of one for each of " + std::to_string(d_inputs_per_port) +
                " inputs of the port");
    const std::vector<double> values = pmt::f64vector_elements(tag.value);
    for (const double v : values)
        require(std::isfinite(v), name, std::to_string(v), "finite");
    d_ports[port].waiting.emplace(tick, change{ int(found - delay_keys), values });
    return true;
}

void delay_tags::take(int64_t first,
                      int64_t end,
                      int64_t hop,
                      double middle,
                      double seconds,
                      const write& to)
{
    for (size_t number = 0; number < d_ports.size(); number++) {
        auto& port = d_ports[number];
        while (!port.waiting.empty()) {
            // all changes that one item is the first to have
            const auto item_of = [&](int64_t tick) {
                return std::max(first, tick <= 0 ? 0 : (tick + hop - 1) / hop);
            };
            const int64_t item = item_of(port.waiting.begin()->first);
            if (item >= end)
                break;
            bool changed[4] = {};
            for (auto next = port.waiting.begin();
                 next != port.waiting.end() && item_of(next->first) == item;
                 next = port.waiting.erase(next)) {
                const auto& [part, values] = next->second;
                changed[part] = port.said[part] = true;
                for (int i = 0; i < d_inputs_per_port; i++) {
                    port.models[i].parts[part] = values[i];
                    port.models[i].tick = next->first;
                }
            }
            std::vector<double> values[4];
            for (const auto& m : port.models) {
                const double after = (double(item * hop - m.tick) + middle) * seconds;
                const double rate = m.parts[delay_rate];
                const double now = m.parts[delay] + rate * after;
                values[delay].push_back(now);
                values[delay_rate].push_back(rate);
                values[phase].push_back(
                    d_sign * (m.parts[phase] + m.parts[phase_rate] * after) -
                    two_pi * d_shift * now);
                values[phase_rate].push_back(d_sign * m.parts[phase_rate] -
                                             two_pi * d_shift * rate);
            }
            const auto any = [](const std::vector<double>& v) {
                return std::any_of(v.begin(), v.end(), [](double x) { return x != 0; });
            };
            for (int part = 0; part < 4; part++)
                // the parts are of one model: a reader gets all of it at once
                if (port.said[part] || changed[part] || any(values[part])) {
                    port.said[part] = true;
                    to(int(number), item, delay_keys[part], values[part]);
                }
        }
    }
}

} // namespace gr::aperture
