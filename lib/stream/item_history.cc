/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/item_history.h"
#include "stream/message_text.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <optional>

namespace gr::aperture {

namespace {

//! Returns an entry of a dictionary that counts spectra.
std::optional<int64_t> entry_of(const pmt::pmt_t& dict, const char* key)
{
    const auto count = count_of(pmt::dict_ref(dict, pmt::intern(key), pmt::PMT_NIL));
    return count && *count < uint64_t(1) << 62 ? std::optional<int64_t>(*count)
                                               : std::nullopt;
}

//! Returns the time of an item by the setting of an earlier one.
std::optional<std::pair<uint64_t, double>> time_at(const item_ring::setting& s,
                                                   uint64_t item)
{
    if (!s.time || item == s.item)
        return s.time;
    if (!s.rate)
        return {};
    const timestamp begin{ int64_t(s.time->first), s.time->second };
    const timestamp t = begin.after(double(item - s.item), *s.rate);
    if (!t.is_time())
        return {};
    return { { uint64_t(t.seconds), t.fraction } };
}

} // namespace

void item_history::clear()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_settings.clear();
    d_told.clear();
    d_missing.clear();
}

void item_history::follow(std::vector<gr::tag_t> tags)
{
    if (tags.empty())
        return;
    std::stable_sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
    std::lock_guard<std::mutex> guard(d_mutex);
    for (const auto& tag : tags)
        if (pmt::is_symbol(tag.key))
            follow(tag);
}

item_ring::setting& item_history::setting_from(uint64_t item)
{
    if (d_settings.empty() || d_settings.back().item != item) {
        item_ring::setting next;
        if (!d_settings.empty()) {
            next = d_settings.back();
            // up to this item the clock ran at the rate before
            next.time = time_at(next, item);
        }
        next.item = item;
        d_settings.push_back(next);
    }
    return d_settings.back();
}

void item_history::follow(const gr::tag_t& tag)
{
    const std::string key = pmt::symbol_to_string(tag.key);
    if (key == tags::rx_time) {
        if (const auto time = timestamp::from_pmt(tag.value)) {
            auto& s = setting_from(tag.offset);
            s.time = { uint64_t(time->seconds), time->fraction };
            s.approximate = false;
        }
    } else if (key == tags::rx_rate) {
        const auto rate = number_of(tag.value);
        setting_from(tag.offset).rate = rate && *rate > 0 ? rate : std::nullopt;
    } else if (key == tags::rx_freq) {
        setting_from(tag.offset).frequency = number_of(tag.value);
    } else if (key == tags::bandwidth) {
        setting_from(tag.offset).bandwidth = number_of(tag.value);
    } else if (key == tags::approximate) {
        setting_from(tag.offset).approximate = pmt::is_true(tag.value);
    } else if (key == tags::settings && pmt::is_vector(tag.value)) {
        constexpr size_t most = 1000;
        d_told.emplace_back(tag.offset, tag.value);
        if (d_told.size() > most)
            d_told.pop_front();
    } else if (key == tags::missing && pmt::is_dict(tag.value)) {
        const auto input = entry_of(tag.value, tags::input).value_or(0);
        const auto first = entry_of(tag.value, tags::first).value_or(0);
        const auto count = entry_of(tag.value, tags::count);
        if (!count)
            return;
        const int64_t begin = int64_t(tag.offset) * d_spectra + first % d_spectra;
        d_missing.push_back({ input, begin, begin + *count });
    }
}

void item_history::forget_before(uint64_t item)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    while (d_settings.size() > 1 && d_settings[1].item <= item)
        d_settings.pop_front();
    const int64_t begin = int64_t(item) * d_spectra;
    while (!d_missing.empty() && d_missing.front().end <= begin)
        d_missing.pop_front();
}

std::vector<item_ring::setting> item_history::settings() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return { d_settings.begin(), d_settings.end() };
}

std::vector<std::pair<uint64_t, pmt::pmt_t>> item_history::told() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return { d_told.begin(), d_told.end() };
}

std::vector<item_ring::missing_run> item_history::missing(uint64_t first,
                                                          int64_t count) const
{
    const int64_t begin = int64_t(first) * d_spectra, end = begin + count * d_spectra;
    std::vector<item_ring::missing_run> found;
    std::lock_guard<std::mutex> guard(d_mutex);
    for (const auto& lost : d_missing) {
        const int64_t from = std::max(lost.begin, begin), to = std::min(lost.end, end);
        if (from < to)
            found.push_back({ lost.input, from - begin, to - from });
    }
    return found;
}

} // namespace gr::aperture
