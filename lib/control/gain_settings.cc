/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/gain_settings.h"
#include "control/message_text.h"
#include "kernels/common/number_text.h"
#include <gnuradio/aperture/tags.h>
#include <cmath>
#include <optional>

namespace gr::aperture {

gain_settings::gain_settings(int inputs, int channels, double first)
    : d_inputs(inputs), d_channels(channels), d_gains(size_t(inputs) * channels, first)
{
}

void gain_settings::check(const setting& s) const
{
    require_range("input", s.input, -1, d_inputs - 1);
    require(s.gains.size() == 1 || s.gains.size() == size_t(d_channels),
            "gains",
            std::to_string(s.gains.size()) + " numbers",
            "one for each of " + std::to_string(d_channels) + " channels");
    for (const auto& g : s.gains)
        if (!std::isfinite(g.real()) || !std::isfinite(g.imag())) // or no text is made
            require(false,
                    "gain",
                    "(" + text_of(g.real()) + ", " + text_of(g.imag()) + ")",
                    "finite");
}

void gain_settings::store(const setting& s)
{
    const int first = s.input < 0 ? 0 : s.input;
    const int last = s.input < 0 ? d_inputs - 1 : s.input;
    for (int input = first; input <= last; input++)
        for (int k = 0; k < d_channels; k++)
            d_gains[size_t(input) * d_channels + k] =
                s.gains[s.gains.size() == 1 ? 0 : k];
    d_changed = true;
}

void gain_settings::set(cfloat gain, int input)
{
    const setting s{ { gain }, input };
    check(s);
    std::lock_guard<std::mutex> guard(d_mutex);
    store(s);
}

void gain_settings::set(const std::vector<cfloat>& gains, int input)
{
    const setting s{ gains, input };
    require(gains.size() == size_t(d_channels),
            "gains",
            std::to_string(gains.size()) + " numbers",
            "one for each of " + std::to_string(d_channels) + " channels");
    check(s);
    std::lock_guard<std::mutex> guard(d_mutex);
    store(s);
}

std::vector<cfloat> gain_settings::of(int input) const
{
    require_range("input", input, 0, d_inputs - 1);
    std::lock_guard<std::mutex> guard(d_mutex);
    auto first = d_gains.begin() + size_t(input) * d_channels;
    return { first, first + d_channels };
}

void gain_settings::receive(const pmt::pmt_t& message)
{
    const std::string rule = "a dictionary with `gain`: a number or a c32vector";
    require(pmt::is_dict(message), "message", text_of(message), rule);
    auto value = [&](const char* name) {
        return pmt::dict_ref(message, pmt::intern(name), pmt::PMT_NIL);
    };
    setting s{ {}, -1 };
    const pmt::pmt_t gain = value(tags::gain);
    if (pmt::is_c32vector(gain))
        s.gains = pmt::c32vector_elements(gain);
    else if (pmt::is_number(gain))
        s.gains = { cfloat(pmt::to_complex(gain)) };
    else
        require(false, "message", text_of(message), rule);
    if (const pmt::pmt_t input = value(tags::input); !pmt::is_null(input)) {
        require(pmt::is_integer(input), "input", text_of(input), "an integer");
        require_range("input", pmt::to_long(input), -1, d_inputs - 1);
        s.input = int(pmt::to_long(input));
    }
    std::optional<timestamp> time;
    if (const pmt::pmt_t at = value(tags::time); !pmt::is_null(at)) {
        time = timestamp::from_pmt(at);
        require(bool(time), "time", text_of(at), "tuple(uint64, double)");
    }
    check(s);
    std::lock_guard<std::mutex> guard(d_mutex);
    if (time)
        d_timed.add(*time, s);
    else
        store(s);
}

int64_t gain_settings::update(int64_t spectrum,
                              const item_clock& c,
                              const std::function<void(int64_t)>& late,
                              const std::function<void(const cfloat*)>& use)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    const int64_t sharing =
        d_timed.take_due(spectrum, c, 1e-3, late, [this](const setting& s) { store(s); });
    if (d_changed)
        use(d_gains.data());
    d_changed = false;
    return sharing;
}

} // namespace gr::aperture
