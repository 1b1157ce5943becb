/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/timed_models.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>

namespace gr::aperture {

std::optional<timestamp> timestamp_of(const std::optional<setting_time>& time)
{
    if (!time)
        return std::nullopt;
    const pmt::pmt_t tuple =
        pmt::make_tuple(pmt::from_uint64(time->first), pmt::from_double(time->second));
    const auto t = timestamp::from_pmt(tuple);
    require(bool(t), "time", text_of(tuple), timestamp::form);
    return t;
}

setting_target setting_target::of(const pmt::pmt_t& message, int inputs)
{
    require(pmt::is_dict(message), "message", text_of(message), "a dictionary");
    auto value = [&](const char* name) {
        return pmt::dict_ref(message, pmt::intern(name), pmt::PMT_NIL);
    };
    setting_target t;
    if (const pmt::pmt_t input = value(tags::input); !pmt::is_null(input)) {
        require(pmt::is_integer(input), "input", text_of(input), "an integer");
        require_range("input", pmt::to_long(input), -1, inputs - 1);
        t.input = int(pmt::to_long(input));
    }
    if (const pmt::pmt_t at = value(tags::time); !pmt::is_null(at)) {
        t.time = timestamp::from_pmt(at);
        require(bool(t.time), "time", text_of(at), timestamp::form);
    }
    if (const pmt::pmt_t model = value(tags::model); !pmt::is_null(model)) {
        // a string of Python and of C++ is a symbol
        require(pmt::is_symbol(model), "model", text_of(model), "a symbol");
        t.model = pmt::symbol_to_string(model);
    }
    if (const pmt::pmt_t at = value(tags::direction); !pmt::is_null(at)) {
        require(pmt::is_dict(at), "direction", text_of(at), "a dictionary");
        t.direction = at;
    }
    return t;
}

pmt::pmt_t setting_target::about(const setting_target& target, const char* kind)
{
    pmt::pmt_t dict = pmt::make_dict();
    const auto add = [&](const char* name, const pmt::pmt_t& value) {
        dict = pmt::dict_add(dict, pmt::intern(name), value);
    };
    add(tags::setting, pmt::intern(kind));
    if (target.input >= 0)
        add(tags::input, pmt::from_long(target.input));
    if (!target.model.empty())
        add(tags::model, pmt::intern(target.model));
    if (target.direction)
        add(tags::direction, target.direction);
    return dict;
}

} // namespace gr::aperture
