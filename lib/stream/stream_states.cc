/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/message_text.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/stream_states.h>
#include <gnuradio/aperture/tags.h>
#include <algorithm>

namespace gr::aperture {

namespace {

//! Returns the time of an item by the clock of an earlier one.
std::optional<stream_states::time_value>
time_by(const std::optional<std::pair<uint64_t, stream_states::time_value>>& clock,
        double rate,
        uint64_t item)
{
    if (!clock || item < clock->first)
        return {};
    if (item == clock->first)
        return clock->second;
    if (rate <= 0)
        return {};
    const timestamp begin{ int64_t(clock->second.first), clock->second.second };
    const timestamp t = begin.after(double(item - clock->first), rate);
    if (!t.is_time())
        return {};
    return { { uint64_t(t.seconds), t.fraction } };
}

pmt::pmt_t value_of(const stream_states::time_value& time)
{
    return timestamp{ int64_t(time.first), time.second }.to_pmt();
}

} // namespace

stream_states::stream_states(std::set<std::string> more) : d_more(std::move(more)) {}

bool stream_states::is_state(const std::string& key)
{
    static const std::set<std::string> keys = {
        tags::rx_time,    tags::rx_freq,          tags::rx_rate,       tags::approximate,
        tags::clock,      tags::bandwidth,        tags::spectra,       tags::counted,
        tags::delay,      tags::samples_per_item, tags::phase,         tags::delay_rate,
        tags::phase_rate, tags::spectrum_rate,    tags::first_spectrum
    };
    return keys.count(key) > 0;
}

void stream_states::forget()
{
    d_said.clear();
    d_since.clear();
    d_clock.reset();
    d_rate = 0;
    d_stamped = -1;
}

void stream_states::take(const gr::tag_t& tag)
{
    if (!pmt::is_symbol(tag.key))
        return;
    const std::string key = pmt::symbol_to_string(tag.key);
    if (!is_state(key) && d_more.count(key) == 0)
        return;
    const uint64_t item = tag.offset;
    if (key == tags::rx_time) {
        // a value that is no time moves no clock
        if (const auto time = timestamp::from_pmt(tag.value))
            d_clock = { item, { uint64_t(time->seconds), time->fraction } };
        // the tag that calls a time a guess stands beside it, in any order
        if (const auto since = d_since.find(tags::approximate);
            since != d_since.end() && since->second != item) {
            d_said.erase(tags::approximate);
            d_since.erase(since);
        }
        d_stamped = int64_t(item);
    } else if (key == tags::rx_rate) {
        // up to this item the clock ran at the rate before; its own rx_time is as good
        if (const auto rate = number_of(tag.value)) {
            if (const auto time = time_by(d_clock, d_rate, item))
                d_clock = { item, *time };
            else
                d_clock.reset();
            d_rate = std::max(*rate, 0.);
        }
    }
    d_said[key] = tag.value;
    // each time has its own
    if (key == tags::approximate)
        d_since[key] = item;
    else
        d_since.insert({ key, item });
}

stream_states::run stream_states::run_of(uint64_t first, uint64_t end) const
{
    run made;
    made.first = first;
    made.end = end;
    made.states = d_said;
    made.d_clock = d_clock;
    made.rate = d_rate;
    if (d_stamped != int64_t(first)) {
        // the value that was said on an earlier item is the time of that
        made.states.erase(tags::rx_time);
        if (const auto time = made.time(first))
            made.states[tags::rx_time] = value_of(*time);
    }
    return made;
}

std::vector<stream_states::run>
stream_states::take(std::vector<gr::tag_t> tags, uint64_t first, uint64_t end)
{
    if (first != d_next)
        forget();
    d_next = end;
    std::stable_sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
    std::vector<run> runs;
    uint64_t begin = first; // first item of the run that is still to be made
    for (auto tag = tags.begin(); tag != tags.end();) {
        const uint64_t item = tag->offset;
        if (item >= end)
            break;
        if (item > begin)
            runs.push_back(run_of(begin, item));
        begin = std::max(begin, item);
        std::map<std::string, std::vector<pmt::pmt_t>> events;
        for (; tag != tags.end() && tag->offset == item; ++tag) {
            take(*tag);
            if (item < first || !pmt::is_symbol(tag->key))
                continue;
            const std::string key = pmt::symbol_to_string(tag->key);
            if (!is_state(key) && d_more.count(key) == 0)
                events[key].push_back(tag->value);
        }
        if (events.empty())
            continue;
        runs.push_back(run_of(item, item + 1));
        runs.back().events = std::move(events);
        begin = item + 1;
    }
    if (begin < end)
        runs.push_back(run_of(begin, end));
    return runs;
}

std::optional<uint64_t> stream_states::since(const std::string& key) const
{
    const auto found = d_since.find(key);
    return found == d_since.end() ? std::nullopt : std::optional<uint64_t>(found->second);
}

std::optional<stream_states::time_value> stream_states::run::time(uint64_t item) const
{
    return time_by(d_clock, rate, item);
}

stream_states::values stream_states::run::at(uint64_t item) const
{
    values made = states;
    if (item != first) {
        made.erase(tags::rx_time);
        if (const auto known = time(item))
            made[tags::rx_time] = value_of(*known);
    }
    for (const auto& [key, values] : events)
        made[key] = values.back();
    return made;
}

} // namespace gr::aperture
