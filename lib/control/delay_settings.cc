/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "control/delay_settings.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gr::aperture {

namespace {

constexpr long double two_pi = 6.283185307179586476925286766559L;
constexpr int64_t for_ever = std::numeric_limits<int64_t>::max();

//! The keys of messages and tags.
struct part {
    const char* name;
    double delay_model::*value;
};
constexpr std::array<part, 4> parts = { {
    { tags::delay, &delay_model::delay },
    { tags::delay_rate, &delay_model::delay_rate },
    { tags::phase, &delay_model::phase },
    { tags::phase_rate, &delay_model::phase_rate },
} };

long double to_nearest(long double cycles) { return cycles - std::round(cycles); }

//! Returns rate times seconds, in cycles, without whole cycles. The rounding error of a
//! product of two doubles is a double: only whole seconds, of which there may be many,
//! are multiplied exactly.
long double cycles_after(long double rate, int64_t seconds, double fraction)
{
    const double high = double(rate), low = double(rate - high);
    const double product = high * double(seconds);
    const double rest = std::fma(high, double(seconds), -product);
    return std::fmod(product, 1.) + (long double)rest + low * (long double)seconds +
           rate * fraction;
}

} // namespace

delay_models::setting setting_of_delays(const setting_target& target,
                                        const std::vector<double>& delays,
                                        const std::vector<double>& delay_rates,
                                        const std::vector<double>& phases,
                                        const std::vector<double>& phase_rates,
                                        int inputs)
{
    require_range("input", target.input, -1, inputs - 1);
    require(delays.size() == 1 || (target.input < 0 && delays.size() == size_t(inputs)),
            "delay",
            std::to_string(delays.size()) + " numbers",
            "one, or without `input` one for each of " + std::to_string(inputs) +
                " inputs");
    delay_models::setting s{ target, {} };
    s.values.resize(delays.size());
    pmt::pmt_t about = setting_target::about(target, "delays");
    const std::array<const std::vector<double>*, 4> given = {
        &delays, &delay_rates, &phases, &phase_rates
    };
    for (size_t p = 0; p < parts.size(); p++) {
        if (given[p]->empty())
            continue;
        require(given[p]->size() == delays.size(),
                parts[p].name,
                std::to_string(given[p]->size()) + " numbers",
                "as many as of delay: " + std::to_string(delays.size()));
        for (size_t i = 0; i < delays.size(); i++) {
            const double number = (*given[p])[i];
            require(std::isfinite(number), parts[p].name, text_of(number), "finite");
            s.values[i].*parts[p].value = number;
        }
        about = pmt::dict_add(about,
                              pmt::intern(parts[p].name),
                              pmt::init_f64vector(delays.size(), *given[p]));
    }
    // a model with rates follows something, and others follow it: they are no news
    const bool moves =
        std::any_of(s.values.begin(), s.values.end(), [](const delay_model& m) {
            return m.delay_rate != 0 || m.phase_rate != 0;
        });
    s.about = target.direction ? setting_target::about(target, tags::direction)
              : moves          ? nullptr
                               : about;
    return s;
}

delay_models::setting setting_of_delays(const pmt::pmt_t& message, int inputs)
{
    const setting_target target = setting_target::of(message, inputs);
    std::array<std::vector<double>, 4> numbers;
    for (size_t p = 0; p < parts.size(); p++) {
        const pmt::pmt_t given =
            pmt::dict_ref(message, pmt::intern(parts[p].name), pmt::PMT_NIL);
        if (pmt::is_f64vector(given))
            numbers[p] = pmt::f64vector_elements(given);
        else if (pmt::is_real(given) || pmt::is_integer(given))
            numbers[p] = { pmt::to_double(given) };
        else
            require(pmt::is_null(given) && p > 0,
                    "message",
                    text_of(message),
                    std::string("a dictionary with `") + parts[p].name +
                        "`: a real number or an f64vector");
    }
    return setting_of_delays(
        target, numbers[0], numbers[1], numbers[2], numbers[3], inputs);
}

delay_sum delay_sum::of(const delay_models::models& models,
                        const std::optional<timestamp>& now)
{
    delay_sum s;
    for (const auto& [name, held] : models) {
        const delay_model& m = held.what;
        const long double cycle_rate = m.phase_rate / two_pi;
        s.cycles += to_nearest(m.phase / two_pi);
        if (!now)
            continue;
        const timestamp gone = *now - *held.time;
        const auto seconds = (long double)gone.seconds + gone.fraction;
        s.delay += m.delay + m.delay_rate * seconds;
        s.delay_rate += m.delay_rate;
        s.cycles += cycles_after(cycle_rate, gone.seconds, gone.fraction);
        s.cycle_rate += cycle_rate;
    }
    return s;
}

delay_settings::delay_settings(const extents& e)
    : d_e(e), d_models(e.inputs), d_delays(e.inputs), d_out_of_range(e.inputs)
{
}

void delay_settings::set(const setting_target& target,
                         const std::vector<double>& delays,
                         const std::vector<double>& delay_rates,
                         const std::vector<double>& phases,
                         const std::vector<double>& phase_rates)
{
    add(setting_of_delays(target, delays, delay_rates, phases, phase_rates, d_e.inputs));
}

void delay_settings::receive(const pmt::pmt_t& message)
{
    add(setting_of_delays(message, d_e.inputs));
}

void delay_settings::add(delay_models::setting s)
{
    require(s.target.model != of_tags,
            "model",
            "\"" + s.target.model + "\"",
            "another name: this one is for the samples' tags");
    std::lock_guard<std::mutex> guard(d_mutex);
    if (const std::string problem = problem_of(s, {}); !problem.empty())
        throw std::invalid_argument(problem);
    const size_t bytes = s.values.size() * sizeof(delay_model);
    d_models.add(std::move(s), bytes);
}

std::vector<delay_setting> delay_settings::settings(int input) const
{
    require_range("input", input, -1, d_e.inputs - 1);
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_models.list<delay_setting>(input, [](delay_setting& s, const auto& m) {
        s.delay = m.delay;
        s.delay_rate = m.delay_rate;
        s.phase = m.phase;
        s.phase_rate = m.phase_rate;
    });
}

std::string delay_settings::problem_of(const delay_models::setting& s,
                                       const std::optional<timestamp>& holds_from) const
{
    if (!d_begun)
        return "";
    for (const auto& m : s.values) {
        double delay = m.delay;
        if (s.target.time && m.delay_rate != 0) {
            if (!holds_from)
                continue; // the delay at that time is not known yet
            delay += m.delay_rate * holds_from->since(*s.target.time);
        }
        const bool still = delay == 0 && m.delay_rate == 0 && m.phase_rate == 0;
        if (d_rate <= 0 && !still)
            return "delay: " + text_of(delay) +
                   " s is not allowed: the samples must have a tag rx_rate";
        if (d_rate > 0 && !(std::abs(delay) * d_rate <= double(d_most)))
            return "delay: " + text_of(delay) + " s is not allowed: it must be from -" +
                   text_of(double(d_most) / d_rate) + " to " +
                   text_of(double(d_most) / d_rate) + " s (most_delay, " +
                   std::to_string(d_most) + " samples)";
    }
    return "";
}

bool delay_settings::read_tag(int port,
                              int64_t tick,
                              const std::string& key,
                              const pmt::pmt_t& value)
{
    const auto found = std::find_if(
        parts.begin(), parts.end(), [&](const part& p) { return key == p.name; });
    if (found == parts.end())
        return false;
    const auto inputs = size_t(d_e.inputs_per_port);
    require(pmt::is_f64vector(value) && pmt::length(value) == inputs,
            key,
            text_of(value),
            "an f64vector of one for each of " + std::to_string(inputs) +
                " inputs of the port");
    std::vector<double> numbers = pmt::f64vector_elements(value);
    for (const double number : numbers)
        require(std::isfinite(number), key, text_of(number), "finite");
    if (d_e.inverted &&
        (found->value == &delay_model::phase || found->value == &delay_model::phase_rate))
        for (double& number : numbers)
            number = -number;
    d_tags.emplace(tick, waiting_tag{ port, found->value, numbers });
    return true;
}

int64_t delay_settings::take_tags(int64_t spectrum, const item_clock& c)
{
    while (!d_tags.empty()) {
        const auto& [tick, tag] = *d_tags.begin();
        const int64_t left = tick - spectrum * d_e.ticks;
        if (left > 0)
            return (left + d_e.ticks - 1) / d_e.ticks;
        const timestamp time = c.rate > 0 ? c.start.after(double(tick) - d_e.middle,
                                                          c.rate * double(d_e.ticks))
                                          : c.start;
        for (int i = 0; i < d_e.inputs_per_port; i++) {
            const int input = tag.port * d_e.inputs_per_port + i;
            const auto& models = d_models.of(input);
            const auto last = models.find(of_tags);
            delay_model m = last != models.end() ? last->second.what : delay_model();
            m.*tag.part = tag.values[i];
            d_models.hold({ { of_tags, input, time }, { m } });
        }
        d_tags.erase(d_tags.begin());
    }
    return for_ever;
}

void delay_settings::start()
{
    d_tags.clear();
    begin();
    std::lock_guard<std::mutex> guard(d_mutex);
    d_models.remove(of_tags);
    d_models.start();
    d_turning.clear();
    d_begun = false;
    d_out_of_range.assign(d_e.inputs, false);
}

void delay_settings::begin() { d_anew = true; }

void delay_settings::shift(int64_t ticks)
{
    std::multimap<int64_t, waiting_tag> shifted;
    for (auto& [tick, tag] : d_tags)
        shifted.emplace(tick + ticks, std::move(tag));
    d_tags = std::move(shifted);
}

delay_settings::sum
delay_settings::sum_of(int input, int64_t spectrum, const item_clock& c) const
{
    if (c.rate <= 0) // only phases are known
        return { 0, 0, delay_sum::of(d_models.of(input), {}).cycles, 0 };
    const delay_sum s =
        delay_sum::of(d_models.of(input), c.start.after(double(spectrum), c.rate));
    const auto samples = (long double)d_e.samples; // samples of a spectrum
    return { s.delay * c.rate * samples,
             s.delay_rate * samples,
             s.cycles,
             s.cycle_rate / c.rate };
}

int64_t delay_settings::divide(int input, const sum& s, const callbacks& callbacks)
{
    // false for NaN, too
    const bool fits = std::abs(s.delay) <= (long double)d_most + 0.5L;
    const int64_t samples = fits ? std::llround(s.delay) : 0;
    if (!fits && !d_out_of_range[input])
        callbacks.refuse("delay of input " + std::to_string(input) + ": " +
                         text_of(double(s.delay)) +
                         " samples, all models together, are not allowed: it must be "
                         "from -" +
                         std::to_string(d_most) + " to " + std::to_string(d_most) +
                         " samples (most_delay); its spectra are missing until it is");
    d_out_of_range[input] = !fits;
    d_delays[input] = { samples,
                        fits ? double(s.delay - samples) : 0,
                        fits ? double(s.delay_rate) : 0,
                        double(to_nearest(s.cycles) * two_pi),
                        double(to_nearest(s.cycle_rate) * two_pi) };
    if (s.delay_rate == 0)
        return for_ever;
    const long double rest = s.delay - std::round(s.delay);
    const long double left = s.delay_rate > 0 ? 0.5L - rest : 0.5L + rest;
    const long double spectra = std::floor(left / std::abs(s.delay_rate)) + 1;
    return int64_t(std::clamp(spectra, 1.L, (long double)spectra_together));
}

bool delay_settings::turns(const delay_models::setting& s) const
{
    if (!s.target.direction)
        return false;
    const auto& models = d_models.of(std::max(s.target.input, 0));
    const auto before = models.find(s.target.model);
    return !d_turning.empty() || (before != models.end() && before->second.about &&
                                  !pmt::equal(before->second.about, s.about));
}

int64_t delay_settings::update(int64_t spectrum,
                               const item_clock& c,
                               int64_t most,
                               int64_t left,
                               const callbacks& callbacks)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_begun = true;
    d_rate = c.rate * double(d_e.samples);
    d_most = most;
    const timestamp now = c.rate > 0 ? c.start.after(double(spectrum), c.rate) : c.start;
    const auto allow = [&](const delay_models::setting& s) {
        const std::string problem = s.target.model == of_tags ? "" : problem_of(s, now);
        if (!problem.empty())
            callbacks.refuse(problem);
        else if (left > 0 && turns(s))
            d_turning.push_back(s);
        else
            return true;
        return false;
    };
    const int64_t tagged = take_tags(spectrum, c);
    if (left == 0)
        for (const auto& s : std::exchange(d_turning, {}))
            d_models.hold(s);
    int64_t sharing =
        std::min(tagged, d_models.update(spectrum, c, callbacks.late, allow));
    if (!d_turning.empty())
        sharing = std::min(sharing, left);
    for (const auto& news : d_models.take_news())
        callbacks.tell(news);
    const bool changed = d_models.take_changed([](int) {});
    const bool corrected =
        d_moving && (c.rate != d_clock.rate || c.start.since(d_clock.start) != 0);
    if (changed || d_anew || corrected || spectrum >= d_until) {
        d_clock = c;
        d_anew = d_moving = false;
        int64_t together = for_ever;
        bool any = false;
        for (int input = 0; input < d_e.inputs; input++) {
            const sum s = sum_of(input, spectrum, c);
            together = std::min(together, divide(input, s, callbacks));
            d_moving = d_moving || s.delay_rate != 0 || s.cycle_rate != 0;
            any = any || s.delay != 0 || s.cycles != 0 || s.delay_rate != 0 ||
                  s.cycle_rate != 0;
        }
        if (d_moving)
            together = std::min(together, spectra_together - spectrum % spectra_together);
        d_until = together == for_ever ? for_ever : spectrum + together;
        callbacks.use({ d_delays, any, d_out_of_range });
    }
    return std::min(sharing, d_until - spectrum);
}

} // namespace gr::aperture
