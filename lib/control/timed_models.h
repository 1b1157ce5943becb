/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_TIMED_MODELS_H
#define INCLUDED_APERTURE_CONTROL_TIMED_MODELS_H

#include "control/timed_settings.h"
#include "kernels/common/types.h"
#include <gnuradio/aperture/input_settings.h>
#include <gnuradio/aperture/tags.h>
#include <pmt/pmt.h>
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gr::aperture {

//! The target of a setting of inputs: the message's keys `input`, `time` and `model`.
struct setting_target {
    std::string model;
    int input = -1; //!< -1: all
    std::optional<timestamp> time;
    //! The direction that a model of delays follows, as in a `settings` tag; nullptr:
    //! none
    pmt::pmt_t direction = nullptr;

    //! \throws std::invalid_argument if `message` is no dictionary, or these are wrong
    static setting_target of(const pmt::pmt_t& message, int inputs);
    //! Returns a dictionary as in a `settings` tag, of a kind of setting, with the target
    //! and without its time and values.
    static pmt::pmt_t about(const setting_target& target, const char* kind);
};

//! \throws std::invalid_argument
std::optional<timestamp> timestamp_of(const std::optional<setting_time>& time);

/*!
 * Settings of the inputs of an F-engine, of several models by name. A setting replaces
 * the one of the same model and input, from its time on or from the next spectrum on.
 * Only one thread at a time may use them.
 */
template <class value>
class timed_models
{
public:
    struct setting {
        setting_target target;
        std::vector<value> values; // one, or one for each input
        //! The setting for a `settings` tag, without its time; nullptr: nobody is told
        pmt::pmt_t about = nullptr;
    };
    //! A setting that is in force.
    struct held {
        value what;
        std::optional<timestamp> time;       //!< see input_setting
        std::optional<timestamp> holds_from; //!< see input_setting
        bool timed;                          //!< the time was given
        pmt::pmt_t about;                    //!< see setting
        bool told;                           //!< take_news() has given it
    };
    using models = std::map<std::string, held>;

    explicit timed_models(int inputs)
        : d_inputs(inputs), d_held(inputs), d_changed(inputs, true)
    {
    }

    //! \param bytes bytes of its values
    //! \throws std::invalid_argument if too many settings wait for their time, or too
    //! large ones, or there are too many models
    void add(setting s, size_t bytes)
    {
        require_model(s.target.model);
        if (s.target.time)
            d_timed.add(*s.target.time, std::move(s), bytes);
        else
            hold(s);
    }

    //! Applies a setting that is due, whatever its time.
    void hold(const setting& s)
    {
        const int first = s.target.input < 0 ? 0 : s.target.input;
        const int last = s.target.input < 0 ? d_inputs - 1 : s.target.input;
        for (int i = first; i <= last; i++) {
            // a model is often sent anew for the same direction
            const auto before = d_held[i].find(s.target.model);
            const bool told = s.about && before != d_held[i].end() &&
                              before->second.told &&
                              is_same(before->second.about, s.about);
            d_held[i].insert_or_assign(s.target.model,
                                       held{ value_of(s, i),
                                             s.target.time,
                                             {},
                                             bool(s.target.time),
                                             s.about,
                                             told });
            d_changed[i] = true;
        }
        d_new = d_any_changed = true;
    }

    //! Removes a model.
    void remove(const std::string& model)
    {
        for (int i = 0; i < d_inputs; i++)
            if (d_held[i].erase(model))
                d_changed[i] = d_any_changed = true;
    }

    //! Begins a run: settings without a time hold from its first spectrum.
    void start()
    {
        for (auto& models : d_held)
            for (auto& [name, h] : models) {
                h.holds_from.reset();
                h.told = false;
                if (!h.timed)
                    h.time.reset();
            }
        d_changed.assign(d_inputs, true);
        d_new = d_any_changed = true;
    }

    /*!
     * Applies the settings that are due at a spectrum.
     * \param late gets by how many spectra a timed setting comes too late
     * \param allow returns whether a setting may hold
     * \returns for how many spectra from this one on they hold
     */
    template <class report_late, class allow_setting>
    int64_t
    update(int64_t spectrum, const item_clock& c, report_late late, allow_setting allow)
    {
        // a thousandth of a spectrum for the rounding of a time that was computed
        const int64_t sharing =
            d_timed.take_due(spectrum, c, 1e-3, late, [&](const setting& s) {
                if (allow(s))
                    hold(s);
            });
        if (!d_new)
            return sharing;
        d_new = false;
        const timestamp now =
            c.rate > 0 ? c.start.after(double(spectrum), c.rate) : c.start;
        for (auto& models : d_held)
            for (auto m = models.begin(); m != models.end();) {
                auto& h = m->second;
                if (!h.holds_from && !h.timed &&
                    !allow(setting{ { m->first, int(&models - d_held.data()), {} },
                                    { h.what } })) {
                    m = models.erase(m);
                    d_changed[&models - d_held.data()] = d_any_changed = true;
                    continue;
                }
                if (!h.holds_from)
                    h.holds_from = now;
                if (h.about && !std::exchange(h.told, true))
                    tell(h.about, now);
                if (!h.time)
                    h.time = now;
                ++m;
            }
        return sharing;
    }

    //! Calls `changed` with each input whose settings in force changed since the last
    //! call.
    //! \returns whether there is one
    template <class report>
    bool take_changed(report changed)
    {
        if (!d_any_changed)
            return false;
        for (int i = 0; i < d_inputs; i++)
            if (d_changed[i])
                changed(i);
        d_changed.assign(d_inputs, false);
        d_any_changed = false;
        return true;
    }

    //! Takes the settings that have come into force, as in a `settings` tag.
    std::vector<pmt::pmt_t> take_news() { return std::exchange(d_news, {}); }

    const models& of(int input) const { return d_held[input]; }

    //! Returns all settings, of one input or of all with -1, those that wait behind those
    //! in force.
    //! \param describe puts a value into its description
    template <class description, class describe_value>
    std::vector<description> list(int input, describe_value describe) const
    {
        std::vector<description> all;
        const auto add = [&](int i, const std::string& model, const value& v) -> auto&
        {
            description d;
            d.model = model;
            d.input = i;
            describe(d, v);
            return all.emplace_back(std::move(d));
        };
        const auto pair = [](const std::optional<timestamp>& t) {
            return t ? std::optional<setting_time>({ uint64_t(t->seconds), t->fraction })
                     : std::nullopt;
        };
        const int first = input < 0 ? 0 : input, last = input < 0 ? d_inputs - 1 : input;
        for (int i = first; i <= last; i++)
            for (const auto& [name, h] : d_held[i]) {
                auto& d = add(i, name, h.what);
                d.time = pair(h.time);
                d.holds_from = pair(h.holds_from);
            }
        d_timed.for_each([&](const setting& s) {
            for (int i = first; i <= last; i++)
                if (s.target.input < 0 || s.target.input == i) {
                    auto& d = add(i, s.target.model, value_of(s, i));
                    d.time = pair(s.target.time);
                    d.waiting = true;
                }
        });
        return all;
    }

private:
    //! Limits the number of models, which stay for good: a new name in each message would
    //! take memory without a bound, and time in each spectrum.
    void require_model(const std::string& name)
    {
        constexpr size_t most = 64, longest = 256;
        require(name.size() <= longest,
                "model",
                "a name of " + std::to_string(name.size()) + " characters",
                "at most " + std::to_string(longest) + " long");
        require(d_names.count(name) || d_names.size() < most,
                "model",
                name,
                "one of the " + std::to_string(most) +
                    " that there are: more are not kept");
        d_names.insert(name);
    }

    static bool is_same(const pmt::pmt_t& a, const pmt::pmt_t& b)
    {
        return a == b || (a && pmt::equal(a, b));
    }

    //! Tells of a setting once, which is held for several inputs.
    void tell(const pmt::pmt_t& about, const timestamp& now)
    {
        const auto news = pmt::dict_add(about, pmt::intern(tags::time), now.to_pmt());
        if (std::none_of(d_news.begin(), d_news.end(), [&](const auto& other) {
                return pmt::equal(other, news);
            }))
            d_news.push_back(news);
    }

    static const value& value_of(const setting& s, int input)
    {
        return s.values[s.values.size() == 1 ? 0 : input];
    }

    const int d_inputs;
    std::vector<models> d_held; // [input]
    std::set<std::string> d_names;
    std::vector<pmt::pmt_t> d_news; // see take_news()
    timed_settings<setting> d_timed;
    std::vector<bool> d_changed; // [input]
    bool d_any_changed = true;
    bool d_new = false; // some do not have holds_from yet
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_TIMED_MODELS_H */
