/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "control/gain_settings.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>

namespace gr::aperture {

gain_settings::gain_settings(int inputs, int channels, double first)
    : d_inputs(inputs),
      d_channels(channels),
      d_models(inputs),
      d_gains(size_t(inputs) * channels)
{
    set({}, { cfloat(first) }, false);
}

void gain_settings::set(const setting_target& target,
                        std::vector<cfloat> gains,
                        bool told)
{
    require_range("input", target.input, -1, d_inputs - 1);
    require(gains.size() == 1 || gains.size() == size_t(d_channels),
            "gains",
            std::to_string(gains.size()) + " numbers",
            "one for each of " + std::to_string(d_channels) + " channels");
    for (const auto& g : gains)
        if (!std::isfinite(g.real()) ||
            !std::isfinite(g.imag())) // a text is made only of gains that are refused
            require(false,
                    "gain",
                    "(" + text_of(g.real()) + ", " + text_of(g.imag()) + ")",
                    "finite");
    const size_t bytes = gains.size() * sizeof(cfloat);
    pmt::pmt_t about = nullptr;
    if (told) {
        constexpr size_t most_told =
            16384; // a setting takes the memory of its gains once
        about = setting_target::about(target, "gains");
        about = gains.size() > most_told
                    ? pmt::dict_add(
                          about, pmt::intern("channels"), pmt::from_uint64(gains.size()))
                    : pmt::dict_add(about,
                                    pmt::intern(tags::gain),
                                    gains.size() == 1
                                        ? pmt::from_complex(gains[0])
                                        : pmt::init_c32vector(gains.size(), gains));
    }
    auto shared = std::make_shared<const std::vector<cfloat>>(std::move(gains));
    std::lock_guard<std::mutex> guard(d_mutex);
    d_models.add({ target, { std::move(shared) }, about }, bytes);
}

void gain_settings::set(cfloat gain, int input)
{
    set({ "", input, {} }, std::vector<cfloat>{ gain });
}

void gain_settings::set(const std::vector<cfloat>& gains, int input)
{
    require(gains.size() == size_t(d_channels),
            "gains",
            std::to_string(gains.size()) + " numbers",
            "one for each of " + std::to_string(d_channels) + " channels");
    set({ "", input, {} }, gains);
}

//! Multiplies the gains of all models; there is always a model "".
void gain_settings::multiply(int input, cfloat* product) const
{
    bool first = true;
    for (const auto& [model, held] : d_models.of(input)) {
        const auto& gains = *held.what;
        const size_t step = gains.size() == 1 ? 0 : 1;
        for (int k = 0; k < d_channels; k++)
            product[k] = first ? gains[k * step] : product[k] * gains[k * step];
        first = false;
    }
}

std::vector<cfloat> gain_settings::of(int input) const
{
    require_range("input", input, 0, d_inputs - 1);
    std::vector<cfloat> product(d_channels);
    std::lock_guard<std::mutex> guard(d_mutex);
    multiply(input, product.data());
    return product;
}

std::vector<gain_setting> gain_settings::settings(int input) const
{
    require_range("input", input, -1, d_inputs - 1);
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_models.list<gain_setting>(
        input, [](gain_setting& s, const values& v) { s.gains = *v; });
}

void gain_settings::receive(const pmt::pmt_t& message)
{
    const std::string rule = "a dictionary with `gain`: a number or a c32vector";
    require(pmt::is_dict(message), "message", text_of(message), rule);
    const pmt::pmt_t gain = pmt::dict_ref(message, pmt::intern(tags::gain), pmt::PMT_NIL);
    std::vector<cfloat> gains;
    if (pmt::is_c32vector(gain))
        gains = pmt::c32vector_elements(gain);
    else if (pmt::is_number(gain))
        gains = { cfloat(pmt::to_complex(gain)) };
    else
        require(false, "message", text_of(message), rule);
    set(setting_target::of(message, d_inputs), std::move(gains));
}

void gain_settings::start()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_models.start();
}

int64_t gain_settings::update(int64_t spectrum,
                              const item_clock& c,
                              const std::function<void(int64_t)>& late,
                              const std::function<void(const cfloat*)>& use,
                              const std::function<void(const pmt::pmt_t&)>& tell)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    const int64_t sharing =
        d_models.update(spectrum, c, late, [](const auto&) { return true; });
    for (const auto& news : d_models.take_news())
        tell(news);
    if (d_models.take_changed([&](int input) {
            multiply(input, d_gains.data() + size_t(input) * d_channels);
        }))
        use(d_gains.data());
    return sharing;
}

} // namespace gr::aperture
