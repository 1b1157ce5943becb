/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/timed_beam_settings.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <numeric>
#include <optional>

namespace gr::aperture {

namespace {

//! A number of weights that is copied, checked and packed within a millisecond.
constexpr size_t few_weights = 65536;

//! Returns the bytes of all vectors in a message: its setting takes as many.
size_t bytes_of(const pmt::pmt_t& message)
{
    size_t sum = 0;
    for (auto rest = message; pmt::is_pair(rest); rest = pmt::cdr(rest)) {
        const auto entry = pmt::car(rest);
        if (!pmt::is_pair(entry) || !pmt::is_uniform_vector(pmt::cdr(entry)))
            continue;
        size_t bytes = 0;
        pmt::uniform_vector_elements(pmt::cdr(entry), bytes);
        sum += bytes;
    }
    return sum;
}

//! Returns the spectra that both lack.
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

timed_beam_settings::timed_beam_settings(const beam_setting_extents& e,
                                         const beam_setting& first,
                                         callbacks c)
    : d_e(e),
      d_callbacks(std::move(c)),
      d_few(size_t(e.channels) * e.beams * e.inputs <= few_weights),
      d_settings(e)
{
    first.check(e);
    d_settings.apply(first);
    if (d_callbacks.check_masks)
        d_callbacks.check_masks(d_settings.incoherent_masks());
    d_ready = make_ready(d_settings, nullptr);
    d_thread = std::thread([this] { work(); });
}

timed_beam_settings::~timed_beam_settings()
{
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_quit = true;
        d_changed.notify_all();
    }
    d_thread.join();
}

void timed_beam_settings::set(beam_setting s)
{
    s.check(d_e);
    s.describe(nullptr);
    const auto j = std::make_shared<job>(job{ nullptr, {}, std::move(s), true, true });
    lock l(d_mutex);
    d_jobs.push_back(j);
    d_changed.notify_all();
    d_changed.wait(l, [&] { return j->done; });
    if (j->problem)
        std::rethrow_exception(j->problem);
}

void timed_beam_settings::set_weights(const std::vector<cfloat>& weights, int beam)
{
    if (weights.empty() && d_e.beams == 0)
        return;
    beam_setting s;
    s.weights = std::make_shared<std::vector<cfloat>>(weights);
    if (weights.empty())
        s.weights->resize((beam < 0 ? d_e.beams : size_t(1)) * d_e.inputs);
    s.beam = beam;
    set(std::move(s));
}

void timed_beam_settings::set_gains(const std::vector<float>& gains, int beam)
{
    if (gains.empty() && d_e.beams == 0)
        return;
    set({ {}, gains.empty() ? std::vector<float>{ 1 } : gains, {}, beam });
}

void timed_beam_settings::set_masks(const std::vector<uint8_t>& masks, int beam)
{
    const size_t beams = beam < 0 ? d_e.all_beams() : 1;
    set({ {},
          {},
          masks.empty() ? std::vector<uint8_t>(beams * d_e.inputs, 1) : masks,
          beam });
}

void timed_beam_settings::receive(const pmt::pmt_t& message)
{
    require(pmt::is_dict(message), "message", text_of(message), "a dictionary");
    std::optional<timestamp> time;
    if (const auto at = pmt::dict_ref(message, pmt::intern(tags::time), pmt::PMT_NIL);
        !pmt::is_null(at)) {
        time = timestamp::from_pmt(at);
        require(bool(time), "time", text_of(at), "tuple(uint64, double)");
    }
    const auto j = std::make_shared<job>(job{ message, time, {}, false, !time });
    const std::lock_guard<std::mutex> guard(d_mutex);
    if (time)
        d_timed.add(*time, j, bytes_of(message));
    d_jobs.push_back(j);
    d_changed.notify_all();
}

std::vector<cfloat> timed_beam_settings::of(int beam) const
{
    require_range("beam", beam, 0, d_e.beams - 1);
    lock l(d_mutex);
    const beam_settings now = d_settings;
    l.unlock();
    std::vector<cfloat> weights;
    for (int k = 0; k < d_e.channels; k++) {
        const auto from =
            now.weights().begin() + (size_t(k) * d_e.beams + beam) * d_e.inputs;
        weights.insert(weights.end(), from, from + d_e.inputs);
    }
    return weights;
}

std::vector<float> timed_beam_settings::gains() const
{
    const std::lock_guard<std::mutex> guard(d_mutex);
    return d_settings.gains();
}

std::vector<std::string> timed_beam_settings::take_refused(bool all)
{
    lock l(d_mutex);
    if (all)
        d_changed.wait(l, [this] { return settled(); });
    return std::exchange(d_refused, {});
}

void timed_beam_settings::start()
{
    const std::lock_guard<std::mutex> guard(d_mutex);
    d_starting = true;
    d_error = nullptr;
    d_directions = nullptr;
}

int64_t timed_beam_settings::update(int64_t frame,
                                    const item_clock& frames,
                                    const std::function<void(int64_t)>& late,
                                    const std::function<void(const changes&)>& use)
{
    lock l(d_mutex);
    jobs due, in_time;
    bool is_late = false;
    // a thousandth of a spectrum for the rounding of a time that was computed
    const int64_t sharing = d_timed.take_due(
        frame,
        frames,
        1e-3 / d_e.spectra_per_frame,
        [&](int64_t by) {
            late(by);
            is_late = true;
        },
        [&](job_sptr j) {
            due.push_back(j);
            if (!std::exchange(is_late, false))
                in_time.push_back(std::move(j));
        });
    if (!due.empty()) {
        if (!settled() || !take_ahead(due))
            for (auto& j : due) {
                j->holds = true;
                if (j->understood)
                    d_now.push_back(j);
            }
        d_changed.notify_all();
    }
    const bool all = d_few || d_starting;
    d_changed.wait(l, [&] {
        return d_error ||
               (all ? settled()
                    : std::all_of(in_time.begin(), in_time.end(), [](const auto& j) {
                          return j->done;
                      }));
    });
    if (d_error)
        std::rethrow_exception(d_error);
    d_starting = false;
    in_time.clear();
    leave(due);
    const auto next = std::exchange(d_ready, nullptr);
    if (!next)
        return sharing;
    auto news = std::exchange(d_news, {});
    for (auto& setting : news)
        setting = pmt::dict_add(setting,
                                pmt::intern(tags::time),
                                (frames.rate > 0
                                     ? frames.start.after(double(frame), frames.rate)
                                     : frames.start)
                                    .to_pmt());
    auto before = std::exchange(d_held, next);
    d_using = true;
    l.unlock();

    changes c{ nullptr, nullptr, nullptr, std::move(news) };
    if (!before || before->weights != next->weights)
        c.weights = next->weights;
    const auto& s = next->settings;
    if (d_e.beams && !(before && s.shares_gains(before->settings)))
        c.gains = s.gains().data();
    if (d_e.incoherent && !(before && s.shares_masks(before->settings)))
        c.masks = s.incoherent_masks();
    try {
        use(c);
    } catch (...) {
        l.lock(); // the kernel may not have the lock
        d_using = false;
        d_held = before;
        if (!d_ready)
            d_ready = next;
        d_changed.notify_all();
        throw;
    }
    l.lock();
    d_using = false;
    leave(before);
    d_changed.notify_all(); // there is room to look ahead
    return sharing;
}

std::vector<intervals::interval> timed_beam_settings::lost_of(
    int beam, const std::vector<intervals>& lost, int64_t first, int64_t end) const
{
    std::vector<int> used = d_held->used[beam]; // only update() changes it
    if (used.empty()) {
        // spectra behind the end of the input are lost for every beam
        used.resize(lost.size());
        std::iota(used.begin(), used.end(), 0);
    }
    auto all = lost[used[0]].within(first, end);
    for (size_t i = 1; i < used.size() && !all.empty(); i++)
        all = common(all, lost[used[i]].within(first, end));
    return all;
}

void timed_beam_settings::work()
{
    lock l(d_mutex);
    while (!d_quit) {
        // releases old weights first, as a kernel may have room for three only: those in
        // use, those that are ready, and those that are made now
        if (!d_left.empty())
            let_go(l);
        else if (d_using)
            d_changed.wait(l);
        else if (!d_jobs.empty())
            understand(l);
        else if (!d_now.empty())
            apply(l);
        else if (const auto next = next_ahead(); !next.empty())
            look_ahead(l, next);
        else
            d_changed.wait(l);
    }
}

void timed_beam_settings::let_go(lock& l)
{
    auto left = std::exchange(d_left, {});
    l.unlock();
    left.clear();
    l.lock();
}

void timed_beam_settings::leave(jobs& those)
{
    d_left.insert(d_left.end(), those.begin(), those.end());
    those.clear();
}

void timed_beam_settings::leave(ready_sptr& it)
{
    d_left.push_back(std::exchange(it, nullptr));
}

bool timed_beam_settings::settled() const
{
    return d_jobs.empty() && d_now.empty() && !d_working;
}

void timed_beam_settings::finish(job& j, std::exception_ptr problem)
{
    j.done = true;
    j.problem = problem;
    d_changed.notify_all();
}

void timed_beam_settings::refuse(job& j, std::exception_ptr problem)
{
    if (!j.called)
        try {
            std::rethrow_exception(problem);
        } catch (const std::exception& e) {
            d_refused.push_back(e.what());
        }
    finish(j, problem);
}

void timed_beam_settings::tell(const beam_setting& s)
{
    if (!s.about)
        return;
    const auto directions =
        pmt::dict_ref(s.about, pmt::intern(tags::directions), pmt::PMT_NIL);
    if (!pmt::is_null(directions)) {
        // weights follow the sky, and only another direction is news
        if (d_directions && pmt::equal(directions, d_directions))
            return;
        d_directions = directions;
    }
    d_news.push_back(s.about);
}

void timed_beam_settings::understand(lock& l)
{
    const auto j = d_jobs.front();
    d_jobs.pop_front();
    d_working = true;
    l.unlock();
    std::exception_ptr problem;
    if (j->message) {
        try {
            j->setting = setting_of(std::exchange(j->message, nullptr), d_e);
        } catch (const std::exception&) {
            problem = std::current_exception();
        }
    }
    l.lock();
    d_working = false;
    j->understood = true;
    if (j->time && j->setting.about &&
        !pmt::dict_has_key(j->setting.about, pmt::intern(tags::directions)))
        j->setting.about = nullptr; // weights with a time follow something, as others do
    if (problem) {
        if (j->time)
            d_timed.remove(*j->time, j);
        refuse(*j, problem);
    } else if (j->holds) {
        d_now.push_back(j);
    }
    d_changed.notify_all();
}

void timed_beam_settings::apply(lock& l)
{
    jobs now = std::exchange(d_now, {});
    if (take_ahead(now)) {
        leave(now);
        return;
    }
    d_working = true;
    leave(d_ahead.made);
    d_ahead = {};
    beam_settings s = d_settings;
    ready_sptr last = d_ready ? d_ready : d_held;
    l.unlock();
    std::vector<std::exception_ptr> problems(now.size());
    for (size_t i = 0; i < now.size(); i++)
        try {
            check_masks(s, now[i]->setting);
            s.apply(now[i]->setting);
        } catch (const std::exception&) {
            problems[i] = std::current_exception();
        }
    ready_sptr made;
    std::exception_ptr error;
    try {
        made = make_ready(s, last);
    } catch (...) {
        error = std::current_exception();
    }
    l.lock();
    d_working = false;
    if (error) {
        d_error = error;
    } else {
        d_settings = s;
        d_version++;
        leave(d_ready);
        d_ready = made;
    }
    for (size_t i = 0; i < now.size(); i++)
        if (problems[i]) {
            refuse(*now[i], problems[i]);
        } else {
            if (!error)
                tell(now[i]->setting);
            finish(*now[i], error);
        }
    leave(now);
    leave(last);
    d_changed.notify_all();
}

timed_beam_settings::jobs timed_beam_settings::next_ahead() const
{
    auto next = d_timed.earliest();
    if (d_ready || (d_ahead.of == next && d_ahead.version == d_version))
        next.clear();
    return next;
}

void timed_beam_settings::look_ahead(lock& l, const jobs& next)
{
    leave(d_ahead.made);
    d_ahead = { next, d_version, nullptr };
    beam_settings s = d_settings;
    ready_sptr last = d_held;
    l.unlock();
    ready_sptr made;
    try {
        for (const auto& j : next) {
            check_masks(s, j->setting);
            s.apply(j->setting);
        }
        made = make_ready(s, last);
    } catch (const std::exception&) {
        // the error is reported when its time comes, unless other settings mend it
    }
    l.lock();
    d_ahead.made = made;
    leave(last);
}

bool timed_beam_settings::take_ahead(const jobs& now)
{
    if (!d_ahead.made || d_ahead.of != now || d_ahead.version != d_version)
        return false;
    leave(d_ready);
    d_ready = d_ahead.made;
    d_settings = d_ready->settings;
    d_version++;
    d_ahead = {};
    for (auto& j : now) {
        tell(j->setting);
        finish(*j);
    }
    return true;
}

timed_beam_settings::ready_sptr
timed_beam_settings::make_ready(const beam_settings& s, const ready_sptr& last) const
{
    if (last && s.shares_weights(last->settings) && s.shares_masks(last->settings))
        return std::make_shared<const ready>(ready{ s, last->weights, last->used });
    kernels::prepared_weights_sptr weights;
    if (d_e.beams)
        weights = d_callbacks.prepare(s.masked_weights()->data());
    return std::make_shared<const ready>(ready{ s, weights, s.used_inputs() });
}

void timed_beam_settings::check_masks(const beam_settings& now,
                                      const beam_setting& s) const
{
    if (!d_callbacks.check_masks || s.masks.empty())
        return;
    beam_settings next = now;
    next.apply({ {}, {}, s.masks, s.beam });
    d_callbacks.check_masks(next.incoherent_masks());
}

} // namespace gr::aperture
