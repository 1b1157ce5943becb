/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/types.h"
#include "receiver_tags_impl.h"
#include "stream/message_text.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace gr::aperture {

namespace {

const pmt::pmt_t status_port = pmt::mp("status");
const pmt::pmt_t command_port = pmt::mp("command");

void require_rate(double rate)
{
    require(std::isfinite(rate) && rate >= 0,
            "rate",
            text_of(rate),
            "0 (not tagged) or a number above 0");
}

void require_frequency(double frequency)
{
    require(
        std::isfinite(frequency), "center_frequency", text_of(frequency), "a finite one");
}

//! Returns a time, or nothing for what cannot be one.
std::optional<timestamp> time_or_nothing(const timestamp& t)
{
    return t.is_time() ? std::optional<timestamp>(t) : std::nullopt;
}

std::string text_of(const timestamp& t)
{
    char fraction[32];
    std::snprintf(fraction, sizeof fraction, "%.9f", t.fraction);
    return std::to_string(t.seconds) + (fraction + 1);
}

} // namespace

receiver_tags::sptr receiver_tags::make(const parameters& p)
{
    check_parameters<receiver_tags>(p);
    require_rate(p.rate);
    require_frequency(p.center_frequency);
    require_time("start_time", p.start_time);
    return gnuradio::make_block_sptr<receiver_tags_impl>(p);
}

receiver_tags_impl::receiver_tags_impl(const parameters& p)
    : gr::sync_block("receiver_tags",
                     gr::io_signature::make(1, 1, p.item_size),
                     gr::io_signature::make(1, 1, p.item_size)),
      d_p(p)
{
    set_tag_propagation_policy(TPP_DONT);
    message_port_register_out(status_port);
    message_port_register_in(command_port);
    set_msg_handler(command_port, [this](const pmt::pmt_t& m) { receive(m); });
}

bool receiver_tags_impl::start()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_set = {};
    d_item = 0;
    d_time.reset();
    d_rate.reset();
    d_frequency.reset();
    d_epoch.reset();
    d_running = false;
    d_finish = false;
    d_losses = 0;
    d_source_time.reset();
    return receiver_tags::start();
}

void receiver_tags_impl::forecast(int noutput_items, gr_vector_int& required)
{
    // the end needs no items
    required[0] = d_finish ? 0 : noutput_items;
}

void receiver_tags_impl::finish()
{
    d_finish = true;
    if (const auto running = detail())
        running->d_tpb.notify_msg(); // the block may wait for items that never come
}

uint64_t receiver_tags_impl::losses() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_losses;
}

uint64_t receiver_tags_impl::waiting() const
{
    const auto running = detail();
    if (!running)
        return 0;
    const auto reader = running->input(0);
    gr::thread::scoped_lock guard(*reader->mutex());
    return uint64_t(std::max(0, reader->items_available()));
}

bool receiver_tags_impl::is_loss(uint64_t item, const said& source)
{
    bool lost = item > 0 && source.rate;
    if (source.time) {
        if (d_source_time && d_rate) {
            const auto expected =
                d_source_time->after(double(item - d_source_item), *d_rate);
            lost = lost || std::abs(source.time->since(expected)) * *d_rate > 0.5;
        }
        d_source_time = source.time;
        d_source_item = item;
    }
    return lost;
}

std::optional<timestamp> receiver_tags_impl::reckoned(uint64_t item) const
{
    if (!d_time || !d_rate)
        return std::nullopt;
    return time_or_nothing(d_time->after(double(item - d_item), *d_rate));
}

receiver_tags_impl::said receiver_tags_impl::first_of(const said& source)
{
    said all = source;
    if (d_p.rate > 0 && (d_p.replace || !source.rate))
        all.rate = d_p.rate;
    if (d_p.center_frequency != 0 && (d_p.replace || !source.frequency))
        all.frequency = d_p.center_frequency;
    if (d_p.clock != "none" && (d_p.replace || !source.time)) {
        all.approximate = d_p.clock == "host";
        all.time = all.approximate ? timestamp::now()
                                   : timestamp{ int64_t(d_p.start_time.first),
                                                d_p.start_time.second };
        if (source.time)
            d_epoch = *all.time - *source.time;
    }
    report_first(source, all);
    return all;
}

receiver_tags_impl::said
receiver_tags_impl::later(uint64_t item, const said& source, const said& set)
{
    said all = source;
    if (source.time && d_p.replace && d_p.clock != "none") {
        // Jumps of the source's rx_time are losses, and are kept.
        if (!d_epoch || !(*d_epoch + *source.time).is_time())
            d_epoch = reckoned(item).value_or(timestamp::now()) - *source.time;
        all.time = *d_epoch + *source.time;
    }
    if (source.rate && d_p.replace && d_p.rate > 0)
        all.rate = d_p.rate;
    if (source.frequency && d_p.replace && d_p.center_frequency != 0)
        all.frequency = d_p.center_frequency;
    if (set.time) {
        if (source.time)
            d_epoch = *set.time - *source.time;
        else if (d_epoch)
            d_epoch.reset();
        all.time = set.time;
    }
    if (set.rate)
        all.rate = set.rate;
    if (set.frequency)
        all.frequency = set.frequency;
    // Without a time beside them they would say that an unknown number of items was lost,
    // which is right where the source gives them and wrong where the user does.
    if (!all.time && !source.any() && all.any()) {
        all.time = reckoned(item);
        all.approximate = d_approximate; // approximate if the time before is
    }
    return all;
}

void receiver_tags_impl::tag(uint64_t item, const said& s)
{
    if (s.time) {
        add_item_tag(0, item, key(tags::rx_time), s.time->to_pmt(), alias_pmt());
        if (s.approximate)
            add_item_tag(0, item, key(tags::approximate), pmt::PMT_T, alias_pmt());
    }
    if (s.rate)
        add_item_tag(0, item, key(tags::rx_rate), pmt::from_double(*s.rate), alias_pmt());
    if (s.frequency)
        add_item_tag(
            0, item, key(tags::rx_freq), pmt::from_double(*s.frequency), alias_pmt());
    // A rate alone counts from its own item on, whose time follows from earlier tags.
    if (const auto time = s.time ? s.time : s.rate ? reckoned(item) : std::nullopt) {
        d_time = time;
        d_item = item;
        if (s.time)
            d_approximate = s.approximate;
    }
    if (s.rate)
        d_rate = s.rate;
    // An unknown number of items was lost: the time is not known any more.
    if (item > 0 && !s.time && (s.rate || (s.frequency && s.frequency != d_frequency)))
        d_time.reset();
    if (s.frequency)
        d_frequency = s.frequency;
}

int receiver_tags_impl::work(int noutput_items,
                             gr_vector_const_void_star& input_items,
                             gr_vector_void_star& output_items)
{
    if (d_finish)
        return WORK_DONE;
    std::memcpy(output_items[0],
                input_items[0],
                size_t(noutput_items) * input_signature()->sizeof_stream_item(0));
    std::lock_guard<std::mutex> guard(d_mutex);
    const uint64_t first = nitems_read(0);
    std::map<uint64_t, said> source{ { first, {} } };
    std::vector<gr::tag_t> found;
    get_tags_in_window(found, 0, 0, noutput_items);
    for (const auto& t : found) {
        said& s = source[t.offset];
        const auto number = number_of(t.value);
        if (t.key == key(tags::rx_time)) {
            s.time = timestamp::from_pmt(t.value);
            if (!s.time)
                refuse_tag(t, timestamp::form);
        } else if (t.key == key(tags::rx_rate)) {
            s.rate = number > 0. ? number : std::nullopt;
            if (!s.rate)
                refuse_tag(t, "a number above 0");
        } else if (t.key == key(tags::rx_freq)) {
            s.frequency = number;
            if (!s.frequency)
                refuse_tag(t, "a finite number");
        } else if (t.key == key(tags::approximate)) {
            s.approximate = pmt::is_true(t.value);
        } else {
            add_item_tag(0, t.offset, t.key, t.value, t.srcid);
        }
    }
    d_running = true;
    for (const auto& [item, s] : source) {
        d_losses += is_loss(item, s);
        tag(item,
            item == 0 ? first_of(s) : later(item, s, item == first ? d_set : said{}));
    }
    d_set = {};
    return noutput_items;
}

void receiver_tags_impl::report_first(const said& source, const said& all)
{
    std::string text;
    const auto add = [&text](const std::string& what) {
        text += (text.empty() ? "" : "; ") + what;
    };
    auto dict = pmt::make_dict();
    const auto assume = [&](const char* name, const pmt::pmt_t& value) {
        dict = pmt::dict_add(dict, key(name), value);
    };
    const bool changed = d_p.replace && source.any();
    if (all.time && (changed || !source.time) && d_p.clock != "none") {
        add("rx_time " + text_of(*all.time) +
            (all.approximate ? " from the host's clock (approximate)" : " as given"));
        assume(tags::rx_time, all.time->to_pmt());
    } else if (!all.time) {
        add("no rx_time is known");
    }
    if (all.rate && all.rate != source.rate) {
        add("rx_rate " + text_of(*all.rate) + " a second as given");
        assume(tags::rx_rate, pmt::from_double(*all.rate));
    } else if (!all.rate) {
        add("no rx_rate is known");
    }
    if (all.frequency && all.frequency != source.frequency) {
        add("rx_freq " + text_of(*all.frequency) + " Hz as given");
        assume(tags::rx_freq, pmt::from_double(*all.frequency));
    } else if (!all.frequency) {
        add("no rx_freq is known");
    }
    if (text.empty())
        return; // the source gives all tags
    dict = pmt::dict_add(dict, key(tags::event), pmt::mp("assumed"));
    dict = pmt::dict_add(dict, key(tags::port), pmt::from_long(0));
    dict = pmt::dict_add(dict, key(tags::item), pmt::from_uint64(0));
    dict = pmt::dict_add(dict, key(tags::reason), pmt::mp(text));
    message_port_pub(status_port, dict);
    if (all.time && all.rate && all.frequency)
        d_logger->info("{:s}", text);
    else
        d_logger->warn("{:s}", text);
}

void receiver_tags_impl::set_center_frequency(double frequency)
{
    require_frequency(frequency);
    std::lock_guard<std::mutex> guard(d_mutex);
    d_p.center_frequency = frequency;
    if (frequency != 0 && d_running)
        d_set.frequency = frequency;
}

double receiver_tags_impl::center_frequency() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_p.center_frequency;
}

void receiver_tags_impl::set_rate(double rate)
{
    require_rate(rate);
    std::lock_guard<std::mutex> guard(d_mutex);
    d_p.rate = rate;
    if (rate > 0 && d_running)
        d_set.rate = rate;
}

double receiver_tags_impl::rate() const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    return d_p.rate;
}

void receiver_tags_impl::set_time(const std::pair<uint64_t, double>& time)
{
    const timestamp t = require_time("time", time);
    std::lock_guard<std::mutex> guard(d_mutex);
    if (d_running) {
        d_set.time = t;
    } else {
        d_p.clock = "given";
        d_p.start_time = time;
    }
}

void receiver_tags_impl::receive(const pmt::pmt_t& message)
{
    // Messages have the form that sources of receivers take: (name . value), or a
    // dictionary of them. Names that this block has no use for, such as the gain, are for
    // the receiver alone.
    auto items = pmt::is_dict(message) ? pmt::dict_items(message)
                 : pmt::is_pair(message) && pmt::is_symbol(pmt::car(message))
                     ? pmt::list1(message)
                     : pmt::PMT_NIL;
    if (!pmt::is_pair(items))
        return refuse("command: " + aperture::text_of(message) +
                      " must be a dictionary, or a pair of a name and a value");
    try {
        for (; pmt::is_pair(items); items = pmt::cdr(items)) {
            const auto name = pmt::car(pmt::car(items));
            const auto value = pmt::cdr(pmt::car(items));
            const auto number = number_of(value);
            const auto time = timestamp::from_pmt(value);
            if (name == pmt::mp("freq") && number)
                set_center_frequency(*number);
            else if (name == pmt::mp("rate") && number)
                set_rate(*number);
            else if (name == key(tags::time) && time)
                set_time({ uint64_t(time->seconds), time->fraction });
            else if (name == pmt::mp("freq") || name == pmt::mp("rate") ||
                     name == key(tags::time))
                refuse("command: " + aperture::text_of(message) +
                       ": freq and rate must be numbers, and time " + timestamp::form);
        }
    } catch (const std::invalid_argument& e) {
        refuse(std::string("command: ") + e.what());
    }
}

void receiver_tags_impl::refuse_tag(const gr::tag_t& tag, const std::string& allowed)
{
    const int held = d_refused_tags.pass(); // each item may have one
    if (held >= 0)
        refuse(pmt::symbol_to_string(tag.key) + " of item " + std::to_string(tag.offset) +
               ": " + aperture::text_of(tag.value) + " is not allowed; it must be " +
               allowed +
               (held ? " (and " + std::to_string(held) + " tags before it)" : ""));
}

void receiver_tags_impl::refuse(const std::string& reason)
{
    auto dict = pmt::make_dict();
    dict = pmt::dict_add(dict, key(tags::event), pmt::mp("refused"));
    dict = pmt::dict_add(dict, key(tags::reason), pmt::mp(reason));
    message_port_pub(status_port, dict);
    d_logger->warn("refused: {:s}", reason);
}

} // namespace gr::aperture
