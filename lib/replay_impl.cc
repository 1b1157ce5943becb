/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/types.h"
#include "replay_impl.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture {

namespace {

//! Bytes of a copy, about: shorter ones would cost more time than the device needs.
constexpr size_t long_copy = 8 << 20;

void require_tag(const char* parameter, double value)
{
    require(std::isfinite(value) && value >= 0,
            parameter,
            text_of(value),
            "0 (not tagged) or a number above 0");
}

void check(const replay::parameters& p)
{
    require(!p.data.empty() && p.data.size() % p.item_size == 0,
            "data",
            std::to_string(p.data.size()) + " bytes",
            "one or more whole items of " + std::to_string(p.item_size) + " bytes");
    const int64_t items = int64_t(p.data.size()) / p.item_size;
    require_range("repeats", p.repeats, 0, std::numeric_limits<int64_t>::max() / items);
    require_time("start_time", p.start_time);
    require(std::isfinite(p.center_frequency),
            "center_frequency",
            text_of(p.center_frequency),
            "finite");
    require_tag("rate", p.rate);
    require_tag("bandwidth", p.bandwidth);
}

replay::parameters with_long_data(replay::parameters p)
{
    const size_t length = p.data.size();
    const size_t times = (long_copy + length - 1) / length;
    p.data.reserve(length * times);
    for (size_t i = 1; i < times; i++)
        p.data.insert(p.data.end(), p.data.begin(), p.data.begin() + length);
    return p;
}

} // namespace

replay::sptr replay::make(parameters p)
{
    check_parameters<replay>(p);
    check(p);
    const device d = device::select(p.device);
    return gnuradio::make_block_sptr<replay_impl>(std::move(p), d);
}

replay_impl::replay_impl(parameters&& p, const device& d)
    : gr::block(
          "replay", gr::io_signature::make(0, 0, 0), signature_on(d, 1, p.item_size)),
      device_block(d),
      d_length(int64_t(p.data.size()) / p.item_size),
      d_total(p.repeats == 0 ? std::numeric_limits<int64_t>::max()
                             : d_length * p.repeats),
      d_p(with_long_data(std::move(p)))
{
}

bool replay_impl::start()
{
    d_sent = 0;
    return device_block::start();
}

void replay_impl::before_first_call()
{
    if (!on_device())
        return;
    d_uploaded = runs_on().allocate(d_p.data.size());
    work_stream().copy(
        d_uploaded.get(), d_p.data.data(), d_p.data.size(), direction::host_to_device);
}

bool replay_impl::stop()
{
    const bool stopped = device_block::stop(); // waits for the last copy
    d_uploaded.reset();
    d_finish = false;
    return stopped;
}

void replay_impl::add_first_tags()
{
    const timestamp time{ int64_t(d_p.start_time.first), d_p.start_time.second };
    auto add = [this](const char* key, const pmt::pmt_t& value) {
        add_item_tag(0, 0, pmt::intern(key), value, alias_pmt());
    };
    add(tags::rx_time, time.to_pmt());
    add(tags::rx_freq, pmt::from_double(d_p.center_frequency));
    if (d_p.rate > 0)
        add(tags::rx_rate, pmt::from_double(d_p.rate));
    if (d_p.bandwidth > 0)
        add(tags::bandwidth, pmt::from_double(d_p.bandwidth));
    if (d_p.samples_per_item > 0)
        add(tags::samples_per_item, pmt::from_uint64(d_p.samples_per_item));
}

int replay_impl::process(int noutput_items,
                         gr_vector_int&,
                         gr_vector_const_void_star&,
                         gr_vector_void_star& output_items)
{
    const int64_t wanted = std::min<int64_t>(noutput_items, d_total - d_sent);
    if (d_finish || wanted == 0)
        return WORK_DONE;
    if (d_sent == 0)
        add_first_tags();
    if (outputs_held()) {
        d_sent += wanted;
        return int(wanted);
    }
    const int64_t item = d_p.item_size, length = int64_t(d_p.data.size()) / item;
    const char* from = on_device() ? d_uploaded.get() : d_p.data.data();
    auto* to = static_cast<char*>(output_items[0]);
    for (int64_t done = 0; done < wanted;) {
        const int64_t place = d_sent % length;
        const int64_t count = std::min(wanted - done, length - place);
        work_stream().copy(to + done * item,
                           from + place * item,
                           size_t(count * item),
                           direction::within_device);
        done += count;
        d_sent += count;
    }
    return int(wanted);
}

} // namespace gr::aperture
