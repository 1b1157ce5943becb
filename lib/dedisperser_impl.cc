/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "dedisperser_impl.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture {

namespace {

kernels::dedisperser::parameters kernel_parameters(const dedisperser::parameters& p)
{
    const kernels::dedisperser::parameters k{
        { p.channels, p.center_frequency, p.bandwidth },
        p.sample_time,
        { p.beams, p.times_per_item, p.dms, p.decimations },
        kernels::parse_power_type("type", p.type),
        p.tolerance
    };
    k.check();
    return k;
}

//! Compares with a tag, which may be rounded, or follow from a rounded rate.
bool same(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

} // namespace

dedisperser::sptr dedisperser::make(const parameters& p)
{
    check_parameters<dedisperser>(p);
    const auto k = kernel_parameters(p);
    const auto d = device::select(p.device);
    return gnuradio::make_block_sptr<dedisperser_impl>(
        k, kernels::dedisperser::make(k, d), p.latency, d);
}

dedisperser_impl::dedisperser_impl(const kernels::dedisperser::parameters& k,
                                   std::unique_ptr<kernels::dedisperser> kernel,
                                   double latency,
                                   const device& d)
    : gr::block("dedisperser",
                signature_on(d, 1, k.checked_time_bytes()),
                signature_on(d, 1, k.trials.item_bytes())),
      clocked_block(d, 1, kernel->longest_delay() + 1, 1),
      d_p(k),
      d_kernel(std::move(kernel))
{
    set_latency(latency);
    // zeros instead of lost powers would be pulses in no trial's baseline: the stretch
    // before a jump of the clock is ended as at the end of the input
    set_most_gap(0);
    begin_anew_where_restated();
    set_relative_rate(1, uint64_t(d_p.trials.times_per_item));
    // for the size of the buffer before it
    const int64_t history = d_kernel->longest_delay() + 1;
    require(history * d_p.checked_time_bytes() < int64_t(1) << 40,
            "dms",
            text_of(*std::max_element(d_p.trials.dms.begin(), d_p.trials.dms.end())),
            "such that the items of the longest delay, " + std::to_string(history) +
                " of " + std::to_string(d_p.checked_time_bytes()) +
                " bytes, are less than 1 TiB");
    set_history(unsigned(history));
}

bool dedisperser_impl::start()
{
    d_begins = false;
    d_lost = {};
    d_states.start(nitems_read(0) > 0);
    return clocked_block::start();
}

void dedisperser_impl::forecast(int, gr_vector_int& required)
{
    require_window(required);
    if (!ended() && !interrupted())
        require_ahead(required, d_kernel->longest_delay() + d_p.trials.times_per_item);
}

void dedisperser_impl::on_tag(int port, const gr::tag_t& tag)
{
    d_states.take(tick_of(port, int64_t(tag.offset)), tag);
}

void dedisperser_impl::note_lost(int64_t first, int64_t end)
{
    d_states.each(
        first, end, [this](int64_t from, int64_t to, const stream_states::values& said) {
            const auto counted = said.find(tags::counted);
            if (counted == said.end() || !pmt::is_u64vector(counted->second))
                return;
            const auto counts = pmt::u64vector_elements(counted->second);
            if (std::all_of(
                    counts.begin(), counts.end(), [](uint64_t n) { return n == 0; }))
                d_lost.add(from, to);
        });
}

bool dedisperser_impl::agrees()
{
    const double wanted = 1 / d_p.sample_time;
    if (rate() > 0 && !same(rate(), wanted))
        return fail("rx_rate: " + text_of(rate()) +
                    " items a second is not allowed; it must be " + text_of(wanted) +
                    ", as sample_time is " + text_of(d_p.sample_time) + " s");
    if (const double width = input_bandwidth();
        width > 0 && !same(width, d_p.band.bandwidth))
        return fail("bandwidth: a tag of " + text_of(width) +
                    " Hz is not allowed; it must be " + text_of(d_p.band.bandwidth) +
                    " Hz as the parameter bandwidth");
    // tuners differ by less than a hundredth of a channel
    const double near = 0.01 * d_p.band.bandwidth / d_p.band.channels;
    for (const auto& change : take_changes(position()))
        if (std::abs(change.frequency - d_p.band.center_frequency) > near)
            return fail("rx_freq: " + text_of(change.frequency) +
                        " Hz is not allowed; it must be " +
                        text_of(d_p.band.center_frequency) +
                        " Hz as the parameter center_frequency");
    return true;
}

clocked_block::progress
dedisperser_impl::make(int done,
                       int room,
                       const gr_vector_const_void_star& input_items,
                       const gr_vector_void_star& output_items)
{
    const int64_t each = d_p.trials.times_per_item;
    const auto run = next_run(room * each);
    if (run.windows == 0 || !agrees())
        return {};
    int64_t times = run.windows / each * each;
    if (times == 0) {
        // Less than an item: wait for more, unless the input ends there, or items are
        // there already that do not belong to it.
        const int64_t end = behind_input(0);
        const auto all = arrived(0);
        const bool is_last = all.all && all.items <= end;
        const bool is_cut =
            run.first_item[0] < 0 || end - run.first_item[0] >= each + longest_delay();
        if (!is_last && !is_cut)
            return {};
        times = run.windows;
    }
    const int items = int((times + each - 1) / each);
    float* const to = static_cast<float*>(output_items[0]) + done * d_p.trials.values();
    if (const char* from = starts_of(run, input_items)[0]) {
        d_kernel->execute(from, to, times, work_stream());
        note_lost(position(), position() + times);
    } else {
        work_stream().clear(to, size_t(items) * d_p.trials.item_bytes());
        d_lost.add(position(), position() + times);
    }
    for (int i = 0; i < items; ++i)
        tag_item(nitems_written(0) + done + i,
                 position() + i * each,
                 position() + std::min(times, (i + 1) * each));
    advance(times);
    d_lost.drop_before(position());
    return { times, items };
}

void dedisperser_impl::tag_item(uint64_t item, int64_t first, int64_t end)
{
    const int64_t each = d_p.trials.times_per_item;
    const timestamp time = time_of(double(first));
    if (d_begins) {
        d_begins = false;
        tag_description(0,
                        item,
                        { time,
                          (rate() > 0 ? rate() : 1 / d_p.sample_time) / double(each),
                          d_p.band.bandwidth,
                          input_samples_per_item() * each });
        tag_frequency(0, item, time, d_p.band.center_frequency);
    }
    const uint64_t spectra = end - first;
    tag_integration(0,
                    item,
                    rate() > 0 ? std::optional<timestamp>(time) : std::nullopt,
                    spectra,
                    { spectra - uint64_t(size_of(d_lost.within(first, end))) });
    if (end - first < each)
        tag(0, item, tags::partial, pmt::PMT_T);
}

} // namespace gr::aperture
