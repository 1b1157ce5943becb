/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "control/beam_setting.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::aperture {

namespace {

//! Returns whether all weights are finite, in a loop that vectorises.
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

//! Checks weights, and makes a text only of those that are refused.
template <class Numbers>
void require_masks(const Numbers& masks)
{
    for (const int m : masks)
        if (m != 0 && m != 1)
            require(false, "mask", std::to_string(m), "0 or 1");
}

std::string numbers(size_t count) { return std::to_string(count) + " numbers"; }

//! Returns an object to change, which nobody else shares.
template <class T>
std::vector<T>& own(std::shared_ptr<std::vector<T>>& shared)
{
    if (shared.use_count() > 1)
        shared = std::make_shared<std::vector<T>>(*shared);
    return *shared;
}

} // namespace

std::vector<uint8_t> as_masks(const std::vector<int>& numbers)
{
    require_masks(numbers);
    return { numbers.begin(), numbers.end() };
}

void beam_setting::check(const beam_setting_extents& e) const
{
    require_range("beam", beam, -1, e.all_beams() - 1);
    const size_t coherent = beam < 0 ? e.beams : beam < e.beams ? 1 : 0;
    const size_t all = beam < 0 ? e.all_beams() : 1;
    if (weights) {
        const size_t row = coherent * e.inputs, count = weights->size();
        require(row > 0 && (count == row || count == row * e.channels),
                "weights",
                numbers(count),
                numbers(row) + " (" + std::to_string(coherent) + " coherent beams x " +
                    std::to_string(e.inputs) + " inputs), or as many for each of " +
                    std::to_string(e.channels) + " channels");
        require(all_finite(*weights), "weights", "a number that is not finite", "finite");
    }
    if (!gains.empty()) {
        require(coherent > 0 && (gains.size() == 1 || gains.size() == coherent),
                "gains",
                numbers(gains.size()),
                "one, or one for each of " + std::to_string(coherent) +
                    " coherent beams");
        for (float g : gains)
            require(std::isfinite(g), "gain", text_of(g), "finite");
    }
    if (!masks.empty()) {
        require(masks.size() == all * e.inputs,
                "mask",
                numbers(masks.size()),
                std::to_string(all) + " beams x " + std::to_string(e.inputs) + " inputs");
        require_masks(masks);
    }
}

beam_setting first_setting(const std::vector<cfloat>& weights,
                           const std::vector<float>& gains,
                           const std::vector<int>& masks)
{
    return { weights.empty() ? nullptr : std::make_shared<std::vector<cfloat>>(weights),
             gains,
             as_masks(masks),
             -1 };
}

void beam_setting::describe(const pmt::pmt_t& directions)
{
    constexpr size_t most_told = 65536; // there may be a gigabyte of weights
    about = pmt::make_dict();
    const auto add = [this](const char* name, const pmt::pmt_t& value) {
        about = pmt::dict_add(about, pmt::intern(name), value);
    };
    add(tags::setting, pmt::intern(directions ? tags::directions : tags::weights));
    if (directions)
        return add(tags::directions, directions);
    if (beam >= 0)
        add(tags::beam, pmt::from_long(beam));
    if (weights && weights->size() <= most_told)
        add(tags::weights, pmt::init_c32vector(weights->size(), *weights));
    else if (weights)
        add(tags::weights, pmt::from_uint64(weights->size()));
    if (!gains.empty())
        add(tags::gain, pmt::init_f32vector(gains.size(), gains));
    if (!masks.empty() && masks.size() <= most_told)
        add(tags::mask, pmt::init_u8vector(masks.size(), masks));
}

beam_setting setting_of(const pmt::pmt_t& message, const beam_setting_extents& e)
{
    auto value = [&](const char* name) {
        return pmt::dict_ref(message, pmt::intern(name), pmt::PMT_NIL);
    };
    beam_setting s;
    if (const auto weights = value(tags::weights); !pmt::is_null(weights)) {
        require(
            pmt::is_c32vector(weights), "weights", "what is no c32vector", "a c32vector");
        if (pmt::length(weights) > 0)
            s.weights =
                std::make_shared<std::vector<cfloat>>(pmt::c32vector_elements(weights));
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
    require(s.weights || !s.gains.empty() || !s.masks.empty(),
            "message",
            text_of(message),
            "a dictionary with `weights`, `gain` or `mask`");
    if (const auto beam = value(tags::beam); !pmt::is_null(beam)) {
        require(pmt::is_integer(beam), "beam", text_of(beam), "an integer");
        require_range("beam", pmt::to_long(beam), -1, e.all_beams() - 1);
        s.beam = int(pmt::to_long(beam));
    }
    s.check(e);
    const auto directions = value(tags::directions);
    require(pmt::is_null(directions) || pmt::is_vector(directions),
            "directions",
            text_of(directions),
            "a vector of dictionaries");
    s.describe(pmt::is_null(directions) ? nullptr : directions);
    return s;
}

beam_settings::beam_settings(const beam_setting_extents& e)
    : d_e(e),
      d_weights(
          std::make_shared<std::vector<cfloat>>(size_t(e.channels) * e.beams * e.inputs)),
      d_gains(std::make_shared<std::vector<float>>(e.beams, 1.f)),
      d_masks(std::make_shared<std::vector<uint8_t>>(size_t(e.all_beams()) * e.inputs, 1))
{
}

void beam_settings::apply(const beam_setting& s)
{
    const size_t first = std::max(0, s.beam), beams = s.beam < 0 ? d_e.beams : 1;
    const size_t row = beams * d_e.inputs; // elements of a channel
    if (s.weights && s.weights->size() == d_weights->size()) {
        d_weights = s.weights;
    } else if (s.weights) {
        auto& weights = own(d_weights);
        for (int k = 0; k < d_e.channels; k++)
            std::copy_n(s.weights->begin() + (s.weights->size() == row ? 0 : k * row),
                        row,
                        weights.begin() + (size_t(k) * d_e.beams + first) * d_e.inputs);
    }
    if (!s.gains.empty()) {
        auto& gains = own(d_gains);
        for (size_t m = 0; m < beams; m++)
            gains[first + m] = s.gains[s.gains.size() == 1 ? 0 : m];
    }
    if (!s.masks.empty())
        std::copy(
            s.masks.begin(), s.masks.end(), own(d_masks).begin() + first * d_e.inputs);
}

std::shared_ptr<const std::vector<cfloat>> beam_settings::masked_weights() const
{
    const size_t row = size_t(d_e.beams) * d_e.inputs; // elements of a channel
    if (!std::count(d_masks->begin(), d_masks->begin() + row, 0))
        return d_weights;
    auto masked = std::make_shared<std::vector<cfloat>>(*d_weights);
    for (size_t i = 0; i < row; i++)
        for (size_t at = i; !(*d_masks)[i] && at < masked->size(); at += row)
            (*masked)[at] = 0;
    return masked;
}

std::vector<std::vector<int>> beam_settings::used_inputs() const
{
    const auto weighted = [this](size_t beam, size_t input) {
        for (int k = 0; k < d_e.channels; k++)
            if ((*d_weights)[(k * size_t(d_e.beams) + beam) * d_e.inputs + input] !=
                cfloat(0))
                return true;
        return false;
    };
    std::vector<std::vector<int>> used(d_e.all_beams());
    for (int beam = 0; beam < d_e.all_beams(); beam++)
        for (int i = 0; i < d_e.inputs; i++)
            if ((*d_masks)[size_t(beam) * d_e.inputs + i] &&
                (beam >= d_e.beams || weighted(beam, i)))
                used[beam].push_back(i);
    return used;
}

} // namespace gr::aperture
