/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "control/pulsar_phase.h"
#include "folder_impl.h"
#include "kernels/common/types.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>

namespace gr::aperture {

namespace {

//! Returns the bytes of an item of an input or output whose elements have `bytes` each.
int powers_size(const folder::parameters& p, int bins, size_t bytes)
{
    return item_size(bins > 1 ? "profile" : "powers",
                     { { "beams", p.beams },
                       { "products", p.products },
                       { "channels", p.channels },
                       { "bins", bins } },
                     bytes);
}

std::vector<int> inputs_of(const folder::parameters& p, kernels::power_type type)
{
    std::vector<int> sizes{ powers_size(p, 1, kernels::size_of(type)) };
    if (p.counts)
        sizes.push_back(item_size("counts",
                                  { { "beams", p.beams }, { "channels", p.channels } },
                                  sizeof(uint32_t)));
    return sizes;
}

void check(const folder::parameters& p)
{
    require(p.subintegration > 0 && p.subintegration <= 1e6,
            "subintegration",
            text_of(p.subintegration),
            "more than 0 s, up to 1e6 s");
}

} // namespace

folder::sptr folder::make(const parameters& p)
{
    check_parameters<folder>(p);
    check(p);
    const auto type = kernels::parse_power_type("type", p.type);
    powers_size(p, p.bins, sizeof(float)); // refuses what is too large
    return gnuradio::make_block_sptr<folder_impl>(
        p,
        phase_model_of(p.segments),
        kernels::profile_sums::parameters{ p.beams * p.products,
                                           p.channels,
                                           p.bins,
                                           p.products,
                                           type,
                                           p.mean,
                                           p.zeros });
}

folder_impl::folder_impl(const parameters& p,
                         const kernels::phase_model& model,
                         const kernels::profile_sums::parameters& sums)
    : gr::block("folder",
                signature_on(device::select("cpu"), inputs_of(p, sums.type)),
                signature_on(
                    device::select("cpu"), 1, 2, powers_size(p, p.bins, sizeof(float)))),
      clocked_block(device::select("cpu"), 1, 1, 1),
      d_p(p),
      d_rows(sums.rows),
      d_item_size(input_signature()->sizeof_stream_item(0)),
      d_model(model),
      d_sums(sums)
{
    set_latency(p.latency);
    begin_anew_where_restated();
    if (p.counts)
        take_companion("the counts");
}

bool folder_impl::start()
{
    d_states.start(nitems_read(0) > 0);
    d_sums.clear();
    d_items = 0;
    d_span = 0;
    d_origin.reset();
    d_next_frequency.reset();
    d_next_settings = nullptr;
    d_begins = true;
    return clocked_block::start();
}

void folder_impl::forecast(int, gr_vector_int& required) { require_window(required); }

void folder_impl::on_begin()
{
    d_origin.reset();
    d_begins = true;
}

void folder_impl::on_moved(int64_t ticks) { d_states.shift(ticks); }

void folder_impl::on_tag(int port, const gr::tag_t& tag)
{
    d_states.take(tick_of(port, int64_t(tag.offset)), tag);
}

folder_impl::about folder_impl::read(const stream_states::values& states)
{
    about item;
    const auto refuse =
        [this](const char* key, const pmt::pmt_t& value, const char* type) {
            fail(std::string(key) + ": " + text_of(value) +
                 " is not allowed; it must be a " + type);
        };
    if (const auto tag = states.find(tags::spectra); tag != states.end()) {
        if (const auto count = count_of(tag->second))
            item.spectra = *count;
        else
            refuse(tags::spectra, tag->second, "uint64");
    }
    if (const auto tag = states.find(tags::counted); tag != states.end()) {
        if (pmt::is_u64vector(tag->second))
            item.counted = pmt::u64vector_elements(tag->second);
        else
            refuse(tags::counted, tag->second, "u64vector");
    }
    if (item.counted.size() > 1 && item.counted.size() != size_t(d_rows))
        fail("counted: " + std::to_string(item.counted.size()) +
             " numbers are not allowed; there must be one, or one for each of " +
             std::to_string(d_rows) + " beams and products");
    return item;
}

std::vector<uint64_t> folder_impl::counts_of(const about& item) const
{
    const size_t rows = size_t(d_rows);
    if (item.counted.size() == rows)
        return item.counted;
    if (item.counted.empty())
        return std::vector<uint64_t>(rows, std::max<uint64_t>(1, item.spectra));
    return std::vector<uint64_t>(rows, item.counted[0]);
}

bool folder_impl::add(int64_t tick,
                      const about& item,
                      const char* powers,
                      const uint32_t* cells)
{
    const timestamp begin = time_of(double(tick));
    // rx_time is that of the first spectrum: the middle of S spectra is (S - 1)/2 later
    const double spectra = double(item.spectra);
    const double middle = item.spectra ? (spectra - 1) / (2 * spectra) : 0.5;
    const timestamp time = begin.after(middle, rate());
    if (!d_origin) {
        d_origin = begin;
        d_number = 0;
    }
    const auto number = int64_t(std::floor(begin.since(*d_origin) / d_p.subintegration +
                                           1e-3 / (d_p.subintegration * rate())));
    if (d_items > 0 && number != d_number)
        return false;
    d_number = number;
    if (d_items == 0)
        d_first = begin;
    const auto phase = d_model.at({ time.seconds, time.fraction });
    if (!phase) {
        fail(no_segment_at(time));
        return true;
    }
    d_items++;
    d_span = begin.after(1, rate()).since(d_first);
    const int bin = std::min(int(phase->phase * d_p.bins), d_p.bins - 1);
    d_sums.add(powers, bin, counts_of(item), cells);
    return true;
}

void folder_impl::dump(int done, const gr_vector_void_star& output_items)
{
    const size_t values = output_signature()->sizeof_stream_item(0) / sizeof(float);
    const bool with_counts = output_items.size() > 1;
    d_sums.dump(static_cast<float*>(output_items[0]) + values * done,
                with_counts ? static_cast<uint32_t*>(output_items[1]) + values * done
                            : nullptr);
    const timestamp middle = d_first.after(d_span / 2, 1);
    pmt::pmt_t folded = pmt::make_dict();
    const auto say = [&](const char* name, const pmt::pmt_t& value) {
        folded = pmt::dict_add(folded, pmt::intern(name), value);
    };
    say("length", pmt::from_double(d_span));
    say("items", pmt::from_uint64(d_items));
    say("middle", middle.to_pmt());
    if (const auto phase = d_model.at({ middle.seconds, middle.fraction })) {
        say("turns", pmt::from_uint64(uint64_t(phase->turns)));
        say("phase", pmt::from_double(phase->phase));
        say("frequency", pmt::from_double(phase->frequency));
    }
    for (int port = 0; port < (with_counts ? 2 : 1); port++) {
        const uint64_t item = nitems_written(port) + done;
        tag(port, item, tags::rx_time, d_first.to_pmt());
        if (d_next_frequency)
            tag(port, item, tags::rx_freq, pmt::from_double(*d_next_frequency));
        if (d_begins && input_bandwidth() > 0)
            tag(port, item, tags::bandwidth, pmt::from_double(input_bandwidth()));
        if (d_next_settings && port == 0)
            tag(port, item, tags::settings, d_next_settings);
        tag(port, item, "folded", folded);
        if (ended() || interrupted())
            tag(port, item, tags::partial, pmt::PMT_T);
    }
    d_next_frequency.reset();
    d_next_settings = nullptr;
    d_begins = false;
    d_items = 0;
    d_span = 0;
}

clocked_block::progress folder_impl::make(int done,
                                          int,
                                          const gr_vector_const_void_star& input_items,
                                          const gr_vector_void_star& output_items)
{
    if (rate() <= 0) {
        fail(std::string("rx_rate: the first item has none; it is needed for the time of "
                         "each item") +
             who_says_the_rate);
        return {};
    }
    const auto run = next_run(int64_t(1) << 40);
    if (run.windows == 0) {
        if (d_items == 0 || !(ended() || interrupted()))
            return {};
        dump(done, output_items);
        return { 1, 1 };
    }
    const char* start = starts_of(run, input_items)[0];
    const auto* cells = reinterpret_cast<const uint32_t*>(
        start && d_p.counts ? start_of_companion(run, input_items) : nullptr);
    const size_t each = size_t(d_p.beams) * d_p.channels;
    const int64_t first = position();
    int64_t used = 0;
    bool full = false;
    const auto use = [&](int64_t from, int64_t to, const stream_states::values& states) {
        if (failed() || full)
            return;
        const auto item = read(states);
        for (int64_t tick = from; tick < to && !failed(); tick++) {
            // another frequency, or setting, begins a sub-integration
            const bool tuned = std::min(next_change(), next_setting()) <= tick;
            const int64_t i = tick - first;
            full = (tuned && d_items > 0) || !add(tick,
                                                  item,
                                                  start + i * d_item_size,
                                                  cells ? cells + i * each : nullptr);
            if (full)
                return;
            used = i + 1;
            for (const auto& change : take_changes(tick))
                d_next_frequency = change.frequency;
            if (const auto settings = take_settings(tick))
                d_next_settings = settings;
        }
    };
    if (start)
        d_states.each(first, first + run.windows, use);
    if (failed())
        return {};
    if (full) {
        dump(done, output_items);
        advance(used);
        return { 1, 1 };
    }
    advance(run.windows);
    return { run.windows, 0 };
}

} // namespace gr::aperture
