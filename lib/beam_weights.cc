/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "beam_weights.h"
#include "message_text.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace gr {
namespace aperture {

namespace {

//! A loop that vectorises: millions of weights are looked at while work() waits.
bool all_finite(const std::vector<cfloat>& values)
{
    constexpr uint32_t infinite = 0x7f800000;
    const auto* bits = reinterpret_cast<const char*>(values.data());
    uint32_t largest = 0;
    for (size_t i = 0; i < 2 * values.size(); i++) {
        uint32_t number;
        std::memcpy(&number, bits + i * sizeof number, sizeof number);
        largest = std::max(largest, number & 0x7fffffff);
    }
    return largest < infinite;
}

//! Makes no text for those that are allowed: there may be millions.
template <class Numbers>
void require_masks(const Numbers& masks)
{
    for (const int m : masks)
        if (m != 0 && m != 1)
            require(false, "mask", std::to_string(m), "0 or 1");
}

std::string numbers(size_t count) { return std::to_string(count) + " numbers"; }

//! The inputs that both lack.
std::vector<intervals::interval> common(const std::vector<intervals::interval>& a,
                                        const std::vector<intervals::interval>& b)
{
    std::vector<intervals::interval> both;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const int64_t first = std::max(a[i].first, b[j].first);
        const int64_t end = std::min(a[i].end, b[j].end);
        if (first < end)
            both.push_back({ first, end });
        a[i].end < b[j].end ? i++ : j++;
    }
    return both;
}

} // namespace

std::vector<uint8_t> as_masks(const std::vector<int>& numbers)
{
    require_masks(numbers);
    return { numbers.begin(), numbers.end() };
}

beam_weights::beam_weights(const extents& e,
                           const setting& first,
                           std::function<void(const uint8_t*)> check_masks)
    : d_e(e),
      d_check_masks(std::move(check_masks)),
      d_weights(
          std::make_shared<std::vector<cfloat>>(size_t(e.channels) * e.beams * e.inputs)),
      d_gains(e.beams, 1.f),
      d_masks(size_t(e.all_beams()) * e.inputs, 1)
{
    set(first);
    if (d_check_masks)
        d_check_masks(d_masks.data() + size_t(e.beams) * e.inputs);
}

void beam_weights::check(const setting& s) const
{
    require_range("beam", s.beam, -1, d_e.all_beams() - 1);
    const size_t coherent = s.beam < 0 ? d_e.beams : s.beam < d_e.beams ? 1 : 0;
    const size_t all = s.beam < 0 ? d_e.all_beams() : 1;
    if (!s.weights.empty()) {
        const size_t row = coherent * d_e.inputs, count = s.weights.size();
        require(row > 0 && (count == row || count == row * d_e.channels),
                "weights",
                numbers(count),
                numbers(row) + " (" + std::to_string(coherent) + " coherent beams x " +
                    std::to_string(d_e.inputs) + " inputs), or as many for each of " +
                    std::to_string(d_e.channels) + " channels");
        require(
            all_finite(s.weights), "weights", "a number that is not finite", "finite");
    }
    if (!s.gains.empty()) {
        require(coherent > 0 && (s.gains.size() == 1 || s.gains.size() == coherent),
                "gains",
                numbers(s.gains.size()),
                "one, or one for each of " + std::to_string(coherent) +
                    " coherent beams");
        for (float g : s.gains)
            require(std::isfinite(g), "gain", std::to_string(g), "finite");
    }
    if (!s.masks.empty()) {
        require(s.masks.size() == all * d_e.inputs,
                "mask",
                numbers(s.masks.size()),
                std::to_string(all) + " beams x " + std::to_string(d_e.inputs) +
                    " inputs");
        require_masks(s.masks);
    }
}

void beam_weights::check_masks(const setting& s) const
{
    if (!d_check_masks || s.masks.empty())
        return;
    if (s.beam < 0) {
        d_check_masks(s.masks.data() + size_t(d_e.beams) * d_e.inputs);
    } else if (s.beam >= d_e.beams) {
        auto masks = d_masks;
        std::copy(
            s.masks.begin(), s.masks.end(), masks.begin() + size_t(s.beam) * d_e.inputs);
        d_check_masks(masks.data() + size_t(d_e.beams) * d_e.inputs);
    }
}

std::vector<cfloat>& beam_weights::own_weights()
{
    if (d_weights.use_count() > 1)
        d_weights = std::make_shared<std::vector<cfloat>>(*d_weights);
    return *d_weights;
}

void beam_weights::store(setting s)
{
    d_new_weights = d_new_weights || !s.weights.empty();
    if (s.beam < 0 && s.weights.size() == d_weights->size()) {
        d_weights = std::make_shared<std::vector<cfloat>>(std::move(s.weights));
        s.weights.clear();
    }
    const int first = std::max(0, s.beam);
    const size_t beams = s.beam < 0 ? d_e.beams : 1;
    const size_t row = beams * d_e.inputs; // of a channel
    for (int k = 0; k < d_e.channels && !s.weights.empty(); k++) {
        const auto from =
            s.weights.begin() + (s.weights.size() == row ? 0 : ptrdiff_t(k * row));
        std::copy(from,
                  from + row,
                  own_weights().begin() + (size_t(k) * d_e.beams + first) * d_e.inputs);
    }
    for (size_t m = 0; m < beams && !s.gains.empty(); m++)
        d_gains[first + m] = s.gains[s.gains.size() == 1 ? 0 : m];
    d_new_gains = d_new_gains || !s.gains.empty();
    std::copy(
        s.masks.begin(), s.masks.end(), d_masks.begin() + size_t(first) * d_e.inputs);
    d_new_masks = d_new_masks || !s.masks.empty();
}

void beam_weights::set(setting s)
{
    check(s);
    std::lock_guard<std::mutex> guard(d_mutex);
    check_masks(s);
    store(std::move(s));
}

void beam_weights::set_weights(const std::vector<cfloat>& weights, int beam)
{
    const size_t beams = beam < 0 ? d_e.beams : 1;
    set({ weights.empty() ? std::vector<cfloat>(beams * d_e.inputs) : weights,
          {},
          {},
          beam });
}

void beam_weights::set_gains(const std::vector<float>& gains, int beam)
{
    if (gains.empty() && d_e.beams == 0)
        return;
    set({ {}, gains.empty() ? std::vector<float>{ 1 } : gains, {}, beam });
}

void beam_weights::set_masks(const std::vector<uint8_t>& masks, int beam)
{
    const size_t beams = beam < 0 ? d_e.all_beams() : 1;
    set({ {},
          {},
          masks.empty() ? std::vector<uint8_t>(beams * d_e.inputs, 1) : masks,
          beam });
}

void beam_weights::receive(const pmt::pmt_t& message)
{
    require(pmt::is_dict(message), "message", text_of(message), "a dictionary");
    auto value = [&](const char* name) {
        return pmt::dict_ref(message, pmt::intern(name), pmt::PMT_NIL);
    };
    setting s;
    if (const auto weights = value(tags::weights); !pmt::is_null(weights)) {
        require(
            pmt::is_c32vector(weights), "weights", "what is no c32vector", "a c32vector");
        s.weights = pmt::c32vector_elements(weights);
    }
    if (const auto gain = value(tags::gain); !pmt::is_null(gain)) {
        if (pmt::is_f32vector(gain)) {
            s.gains = pmt::f32vector_elements(gain);
        } else {
            require(pmt::is_real(gain) || pmt::is_integer(gain),
                    "gain",
                    text_of(gain),
                    "a real number, or a f32vector");
            s.gains = { float(pmt::to_double(gain)) };
        }
    }
    if (const auto mask = value(tags::mask); !pmt::is_null(mask)) {
        require(pmt::is_u8vector(mask), "mask", "what is no u8vector", "a u8vector");
        s.masks = pmt::u8vector_elements(mask);
    }
    require(!s.weights.empty() || !s.gains.empty() || !s.masks.empty(),
            "message",
            text_of(message),
            "a dictionary with `weights`, `gain` or `mask`");
    if (const auto beam = value(tags::beam); !pmt::is_null(beam)) {
        require(pmt::is_integer(beam), "beam", text_of(beam), "an integer");
        require_range("beam", pmt::to_long(beam), -1, d_e.all_beams() - 1);
        s.beam = int(pmt::to_long(beam));
    }
    std::optional<timestamp> time;
    if (const auto at = value(tags::time); !pmt::is_null(at)) {
        time = timestamp::from_pmt(at);
        require(bool(time), "time", text_of(at), "tuple(uint64, double)");
    }
    check(s);
    std::lock_guard<std::mutex> guard(d_mutex);
    check_masks(s);
    if (time)
        d_timed.add(*time, std::move(s));
    else
        store(std::move(s));
}

std::vector<cfloat> beam_weights::of(int beam) const
{
    require_range("beam", beam, 0, d_e.beams - 1);
    std::vector<cfloat> weights;
    std::lock_guard<std::mutex> guard(d_mutex);
    for (int k = 0; k < d_e.channels; k++) {
        const auto from =
            d_weights->begin() + (size_t(k) * d_e.beams + beam) * d_e.inputs;
        weights.insert(weights.end(), from, from + d_e.inputs);
    }
    return weights;
}

std::vector<float> beam_weights::gains() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_gains;
}

int64_t beam_weights::update(int64_t block,
                             const item_clock& blocks,
                             const std::function<void(int64_t)>& late,
                             const std::function<void(const changes&)>& use)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    // a thousandth of a spectrum for the rounding of a time that was computed
    const int64_t sharing =
        d_timed.take_due(block, blocks, 1e-3 / d_e.times, late, [this](setting&& s) {
            store(std::move(s));
        });
    if (!d_new_weights && !d_new_gains && !d_new_masks)
        return sharing;
    changes c{ nullptr, nullptr, nullptr };
    if (d_e.beams && (d_new_weights || d_new_masks)) {
        const size_t row = size_t(d_e.beams) * d_e.inputs; // of a channel
        d_masked = d_weights;
        if (std::count(d_masks.begin(), d_masks.begin() + row, 0)) {
            d_masked = std::make_shared<std::vector<cfloat>>(*d_weights);
            for (size_t i = 0; i < row; i++)
                for (size_t at = i; !d_masks[i] && at < d_masked->size(); at += row)
                    (*d_masked)[at] = 0;
        }
        c.weights = d_masked->data();
    }
    if (d_e.beams && d_new_gains)
        c.gains = d_gains.data();
    if (d_e.incoherent && d_new_masks)
        c.masks = d_masks.data() + size_t(d_e.beams) * d_e.inputs;
    use(c);
    if (d_new_weights || d_new_masks) {
        d_held_masks = d_masks;
        d_used.clear();
    }
    d_new_weights = d_new_gains = d_new_masks = false;
    return sharing;
}

void beam_weights::find_used()
{
    d_used.resize(d_e.all_beams());
    for (int beam = 0; beam < d_e.all_beams(); beam++)
        for (int i = 0; i < d_e.inputs; i++) {
            bool used = d_held_masks[size_t(beam) * d_e.inputs + i];
            if (beam < d_e.beams) {
                used = false;
                for (int k = 0; k < d_e.channels && !used; k++)
                    used = (*d_masked)[(size_t(k) * d_e.beams + beam) * d_e.inputs + i] !=
                           cfloat(0);
            }
            if (used)
                d_used[beam].push_back(i);
        }
}

std::vector<intervals::interval> beam_weights::lost_of(int beam,
                                                       const std::vector<intervals>& lost,
                                                       int64_t first,
                                                       int64_t end)
{
    if (d_used.empty())
        find_used();
    const auto& used = d_used[beam];
    if (used.empty())
        return {};
    auto all = lost[used[0]].within(first, end);
    for (size_t i = 1; i < used.size() && !all.empty(); i++)
        all = common(all, lost[used[i]].within(first, end));
    return all;
}

} // namespace aperture
} // namespace gr
