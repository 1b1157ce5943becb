/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "pulse_search_impl.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace gr::aperture {

namespace {

const pmt::pmt_t candidates_port = pmt::mp("candidates");
const pmt::pmt_t rejected_port = pmt::mp("rejected");
const pmt::pmt_t status_port = pmt::mp("status");

bool alike(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

pmt::pmt_t with(const pmt::pmt_t& dict, const char* name, const pmt::pmt_t& value)
{
    return pmt::dict_add(dict, key(name), value);
}

//! Makes the id of a candidate, of letters, digits, _ and -: the time, the beam, and the
//! dispersion measure in hundredths, so that no two candidates have the same.
std::string id_of(const timestamp& time, int beam, double dm)
{
    const std::time_t seconds = std::time_t(time.seconds);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char date[32], text[80];
    std::strftime(date, sizeof date, "%Y%m%dT%H%M%S", &utc);
    std::snprintf(text,
                  sizeof text,
                  "%s-%06dZ-b%04d-dm%07lld",
                  date,
                  int(time.fraction * 1e6),
                  beam,
                  std::llround(std::min(dm, 1e7) * 100));
    return text;
}

} // namespace

kernels::pulse_search::parameters
pulse_search_impl::kernel_parameters(const parameters& p)
{
    kernels::pulse_search::parameters k;
    k.trials = { p.beams, p.times_per_item, p.dms, p.decimations };
    k.sample_time = p.sample_time;
    k.window = p.baseline;
    k.widest = p.widest;
    k.growth = p.growth;
    k.threshold = p.threshold;
    k.most_cells = p.most_cells;
    k.check();
    kernels::dispersed_band{ p.channels, p.center_frequency, p.bandwidth }.check();
    require(p.positions.empty() || p.positions.size() == 2 * size_t(p.beams),
            "positions",
            "a list of " + std::to_string(p.positions.size()) + " numbers",
            "x and y of each of the " + std::to_string(p.beams) + " beams, or none");
    for (const double x : p.positions)
        require(std::isfinite(x), "positions", text_of(x), "a number");
    cluster_parameters(p).check();
    return k;
}

kernels::clusters::parameters pulse_search_impl::cluster_parameters(const parameters& p)
{
    const int coarsest = p.decimations.empty() ? 1
                                               : *std::max_element(p.decimations.begin(),
                                                                   p.decimations.end());
    return { p.beams,
             p.dms,
             p.link_time,
             p.link_widths,
             p.link_trials,
             p.threshold,
             p.widest * coarsest * p.sample_time,
             std::max(10., 8. * p.widest * coarsest * p.sample_time),
             size_t(p.most_cells) * 8 };
}

pulse_search::sptr pulse_search::make(const parameters& p)
{
    check_parameters<pulse_search>(p);
    pulse_search_impl::kernel_parameters(p);
    return gnuradio::make_block_sptr<pulse_search_impl>(p, device::select(p.device));
}

pulse_search_impl::pulse_search_impl(const parameters& p, const device& d)
    : gr::block("pulse_search",
                signature_on(d, 1, kernel_parameters(p).trials.item_bytes()),
                signature_on(d, 0, kernel_parameters(p).trials.item_bytes())),
      clocked_block(d, 1, 1, 1),
      d_p(p),
      d_search(kernel_parameters(p)),
      d_band{ p.channels, p.center_frequency, p.bandwidth },
      d_boxcars(kernels::boxcars(p.widest, p.growth)),
      d_kernel(kernels::pulse_search::make(d_search, d)),
      d_clusters(cluster_parameters(p))
{
    set_latency(p.latency);
    set_history(2); // room for the item that stays
    begin_anew_where_restated();
    for (int t = 0; t < d_search.trials.trials(); t++)
        d_delay = std::max(d_delay,
                           kernels::group_values * d_search.trials.decimation(t) *
                               p.sample_time);
    message_port_register_out(candidates_port);
    message_port_register_out(rejected_port);
}

bool pulse_search_impl::start()
{
    d_clusters.reset();
    d_given.clear();
    d_unfinished = false;
    d_left_out = d_sent = d_rejected = 0;
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_above.assign(d_boxcars.size(), 0);
    }
    d_told = std::chrono::steady_clock::now();
    return clocked_block::start();
}

void pulse_search_impl::before_first_call() { d_kernel->reset(work_stream()); }

void pulse_search_impl::forecast(int, gr_vector_int& required)
{
    require_window(required);
}

void pulse_search_impl::on_begin()
{
    if (rate() > 0 && !alike(1 / rate(), item_time()))
        fail("rx_rate: " + text_of(rate()) +
             " items a second came, but sample_time and "
             "times_per_item make " +
             text_of(1 / item_time()));
    if (input_bandwidth() > 0 && !alike(input_bandwidth(), d_p.bandwidth))
        fail("bandwidth: the tag says " + text_of(input_bandwidth()) +
             " Hz, the parameter " + text_of(d_p.bandwidth));
    on_tuned(0, 0);
}

void pulse_search_impl::on_tuned(int, int64_t)
{
    if (frequency() > 0 && !alike(frequency(), d_p.center_frequency))
        fail("center_frequency: rx_freq is " + text_of(frequency()) +
             " Hz, the parameter " + text_of(d_p.center_frequency));
}

clocked_block::progress pulse_search_impl::make(int,
                                                int,
                                                const gr_vector_const_void_star& in,
                                                const gr_vector_void_star&)
{
    const auto run = next_run(1);
    if (run.windows == 0) {
        const bool last = ended() || interrupted();
        if (last)
            break_off();
        collect(last);
        if (last) {
            send(d_clusters.rest());
            tell_counts();
        } else if (std::chrono::steady_clock::now() - d_told > std::chrono::seconds(1)) {
            tell_counts();
        }
        return {};
    }
    take_changes(position());
    if (const char* start = starts_of(run, in)[0]) {
        d_kernel->search(reinterpret_cast<const float*>(start), work_stream());
        d_given.push_back(position());
        d_unfinished = true;
    } else {
        break_off();
    }
    advance(run.windows);
    collect(false);
    return { run.windows, 0 };
}

void pulse_search_impl::break_off()
{
    if (!d_unfinished)
        return;
    d_kernel->flush(work_stream());
    d_given.push_back(position());
    d_unfinished = false;
}

void pulse_search_impl::collect(bool all)
{
    for (const auto& found : d_kernel->collect(all)) {
        take(found, d_given.front());
        d_given.pop_front();
    }
}

void pulse_search_impl::take(const kernels::pulse_search::result& found, int64_t tick)
{
    const double begin = double(tick) * item_time();
    for (const auto& c : found.cells) {
        const int trials = d_search.trials.trials();
        const int trial = c.series % trials;
        const double step = d_search.trials.decimation(trial) * d_p.sample_time;
        d_clusters.add({ c.series / trials,
                         trial,
                         begin + c.end * step,
                         d_boxcars[c.boxcar].width * step,
                         c.snr });
    }
    if (found.left_out) {
        d_left_out += found.left_out;
        report("left_out", 0, tick, int64_t(found.left_out));
    }
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        for (size_t i = 0; i < d_above.size(); i++)
            d_above[i] += found.above[i];
    }
    send(d_clusters.finished(begin + item_time() - d_delay));
}

std::vector<int> pulse_search_impl::widths() const
{
    std::vector<int> all;
    for (const auto& b : d_boxcars)
        all.push_back(b.width);
    return all;
}

std::vector<uint64_t> pulse_search_impl::cells() const
{
    const std::lock_guard<std::mutex> guard(d_mutex);
    return d_above;
}

void pulse_search_impl::tell_counts()
{
    const auto above = cells();
    auto dict = with(pmt::make_dict(), tags::event, pmt::intern("counts"));
    dict = with(dict, "cells", pmt::init_u64vector(above.size(), above));
    dict = with(dict, "left_out", pmt::from_uint64(d_left_out));
    dict = with(dict, "candidates", pmt::from_uint64(d_sent));
    dict = with(dict, "rejected", pmt::from_uint64(d_rejected));
    message_port_pub(status_port, dict);
    d_told = std::chrono::steady_clock::now();
}

int pulse_search_impl::beams_of(const kernels::clusters::candidate& c) const
{
    if (d_p.positions.empty())
        return int(c.beams.size());
    const double* best = &d_p.positions[2 * c.best.beam];
    return int(std::count_if(c.beams.begin(), c.beams.end(), [&](int beam) {
        const double* at = &d_p.positions[2 * beam];
        return std::hypot(at[0] - best[0], at[1] - best[1]) > d_p.neighbors;
    }));
}

const char* pulse_search_impl::fault_of(const kernels::clusters::candidate& c) const
{
    if (d_p.dms[c.best.trial] < d_p.min_dm)
        return "low_dm";
    if (d_p.most_beams > 0 && beams_of(c) > d_p.most_beams)
        return "many_beams";
    return nullptr;
}

void pulse_search_impl::send(const std::vector<kernels::clusters::candidate>& found)
{
    for (const auto& c : found) {
        const char* fault = fault_of(c);
        auto message = message_of(c);
        if (fault)
            message = with(message, tags::reason, pmt::mp(fault));
        (fault ? d_rejected : d_sent)++;
        message_port_pub(fault ? rejected_port : candidates_port, message);
    }
}

timestamp pulse_search_impl::time_at(double seconds) const
{
    if (rate() > 0)
        return time_of(seconds / item_time());
    return time_of(0).after(seconds, 1);
}

pmt::pmt_t pulse_search_impl::message_of(const kernels::clusters::candidate& c) const
{
    using kernels::dispersion_delay;
    const double dm = d_p.dms[c.best.trial], width = c.best.width;
    const double channel = d_p.bandwidth / d_p.channels;
    const double top = d_band.reference_frequency();
    // the middle of the pulse
    const double at_top = c.best.end - width / 2;
    const double at_infinity = at_top - dispersion_delay(dm, top);
    const double first = at_infinity + dispersion_delay(dm, top + channel / 2);
    const double last =
        at_infinity + dispersion_delay(dm, d_band.frequency(0) - channel / 2);
    const double around = width / 2 + d_p.margin;
    const timestamp time = time_at(at_infinity);

    auto dict = with(pmt::make_dict(), "id", pmt::mp(id_of(time, c.best.beam, dm)));
    dict = with(dict, tags::time, time.to_pmt());
    dict = with(dict, "dm", pmt::from_double(dm));
    dict = with(dict, "width", pmt::from_double(width));
    dict = with(dict, "snr", pmt::from_double(c.best.snr));
    dict = with(dict, tags::beam, pmt::from_long(c.best.beam));
    dict = with(dict, "beams", pmt::from_long(long(c.beams.size())));
    dict = with(dict, "start", time_at(first - around).to_pmt());
    dict = with(dict, "end", time_at(last + around).to_pmt());
    return dict;
}

} // namespace gr::aperture
