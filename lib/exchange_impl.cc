/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "exchange_impl.h"
#include "kernels/masks/mask.h"
#include "stream/delay_tags.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>

namespace gr::aperture {

namespace {

kernels::exchange::way way_of(const std::string& by)
{
    using way = kernels::exchange::way;
    require(by == "auto" || by == "copies" || by == "nccl",
            "by",
            "'" + by + "'",
            "auto, copies or nccl");
    return by == "copies" ? way::copies : by == "nccl" ? way::nccl : way::automatic;
}

std::vector<device> devices_of(const std::string& parameter,
                               const std::vector<std::string>& names)
{
    std::vector<device> devices;
    for (const auto& name : names) {
        devices.push_back(device::select(name));
        require(devices.back().type() == devices.front().type(),
                parameter,
                name + " beside " + names.front(),
                "devices of one kind");
    }
    return devices;
}

std::vector<int> numbers_of(const std::vector<device>& devices)
{
    std::vector<int> numbers;
    for (const auto& d : devices)
        numbers.push_back(d.index());
    return numbers;
}

kernels::exchange::parameters kernel_parameters(const exchange::parameters& p,
                                                const std::vector<device>& inputs,
                                                const std::vector<device>& outputs)
{
    kernels::exchange::parameters k;
    k.channels = p.channels;
    k.inputs = p.inputs;
    const auto type = parse_sample_type(
        "type", p.type, { sample_type::fc32, sample_type::sc8, sample_type::sc4 });
    require_range("spectra_per_slice", p.spectra_per_slice, 0, p.spectra_per_frame);
    k.row = p.spectra_per_frame * int(size_of(type));
    if (p.spectra_per_slice > 0) {
        const kernels::mask_layout mask{
            p.channels, p.inputs, p.spectra_per_frame, p.spectra_per_slice
        };
        mask.check();
        k.row = mask.bytes_per_input();
    }
    k.input_devices = numbers_of(inputs);
    k.output_devices = numbers_of(outputs);
    k.by = way_of(p.by);
    k.check();
    require_ports(std::max(k.inputs_ports(), k.outputs_ports()));
    return k;
}

int port_item(int channels, int inputs, int row)
{
    return item_size("frame", { { "channels", channels }, { "inputs", inputs } }, row);
}

io_signature::sptr input_signature_of(const kernels::exchange::parameters& k,
                                      const device& d)
{
    std::vector<int> sizes;
    for (int port = 0; port < k.inputs_ports(); port++)
        sizes.push_back(port_item(k.channels, k.inputs_of(port).count, k.row));
    return signature_on(d, sizes);
}

io_signature::sptr output_signature_of(const kernels::exchange::parameters& k,
                                       const device& d)
{
    std::vector<int> sizes;
    for (int port = 0; port < k.outputs_ports(); port++)
        sizes.push_back(port_item(k.channels_of(port).count, k.inputs, k.row));
    return signature_on(d, sizes);
}

} // namespace

exchange::sptr exchange::make(const parameters& p)
{
    check_parameters<exchange>(p);
    require(!p.input_devices.empty(), "input_devices", "an empty list", "one or more");
    require(!p.output_devices.empty(), "output_devices", "an empty list", "one or more");
    const auto inputs = devices_of("input_devices", p.input_devices);
    const auto outputs = devices_of("output_devices", p.output_devices);
    require(inputs[0].type() == outputs[0].type(),
            "output_devices",
            p.output_devices[0] + " beside " + p.input_devices[0],
            "devices of one kind");
    return gnuradio::make_block_sptr<exchange_impl>(
        p, kernel_parameters(p, inputs, outputs), inputs, outputs);
}

std::pair<int, int> exchange::range_of(int part, int parts, int total)
{
    require_range("parts", parts, 1, std::max(1, total));
    require_range("part", part, 0, parts - 1);
    const auto range = kernels::exchange::range_of(part, parts, total);
    return { range.first, range.count };
}

exchange_impl::exchange_impl(const parameters& p,
                             const kernels::exchange::parameters& k,
                             const std::vector<device>& inputs,
                             const std::vector<device>& outputs)
    : gr::block("exchange",
                input_signature_of(k, inputs[0]),
                output_signature_of(k, outputs[0])),
      clocked_block(inputs, outputs, 1, 1),
      d_p(k),
      d_spectra(p.spectra_per_frame),
      d_masks(p.spectra_per_slice > 0),
      d_kernel(kernels::exchange::make(k, inputs[0])),
      d_lost(k.inputs)
{
    set_latency(p.latency);
    set_most_gap(p.most_gap);
    begin_anew_where_restated();
    // frames whose time is the host's are taken as having begun together
    compare_true_times_only();
    d_streams.resize(k.devices().size());
    for (int port = 0; port < k.inputs_ports(); port++)
        d_streams[k.place_of(k.input_devices[port])] = &input_stream(port);
    for (int port = 0; port < k.outputs_ports(); port++)
        d_streams[k.place_of(k.output_devices[port])] = &output_stream(port);
}

bool exchange_impl::start()
{
    d_begins = false;
    std::fill(d_lost.begin(), d_lost.end(), intervals());
    d_partial.clear();
    d_others.clear();
    return clocked_block::start();
}

void exchange_impl::forecast(int, gr_vector_int& required) { require_window(required); }

void exchange_impl::on_tag(int port, const gr::tag_t& tag)
{
    const int64_t frame = tick_of(port, tag.offset);
    const auto inputs = d_p.inputs_of(port);
    if (tag.key == pmt::intern(tags::partial)) {
        if (pmt::is_true(tag.value))
            d_partial.insert(frame);
    } else if (tag.key == pmt::intern(tags::missing)) {
        if (const auto lost = read_missing(tag, port, inputs.count)) {
            const int64_t first = frame * d_spectra + lost->first % d_spectra;
            d_lost[inputs.first + lost->input].add(first, first + lost->count);
        }
    } else if (port == 0) {
        d_others.push_back(tag);
        d_others.back().offset = frame;
    }
}

void exchange_impl::on_moved(int64_t ticks)
{
    for (auto& tag : d_others)
        tag.offset += ticks;
}

bool exchange_impl::begin_together()
{
    int first = -1; // first port that knows the time
    for (int port = 0; port < d_p.inputs_ports(); port++) {
        if (!has_true_time(port) || rate() <= 0)
            continue;
        if (first < 0) {
            first = port;
            continue;
        }
        const double apart = (lag(port, position()) - lag(first, position())) * d_spectra;
        if (std::abs(apart) >= 0.5)
            return fail("frames of port " + std::to_string(port) + " begin " +
                        text_of(apart) + " spectra after those of port " +
                        std::to_string(first) +
                        ": those of all ports must begin at the same times (the "
                        "F-engines' align)");
    }
    return true;
}

clocked_block::progress exchange_impl::make(int done,
                                            int room,
                                            const gr_vector_const_void_star& input_items,
                                            const gr_vector_void_star& output_items)
{
    const auto run = next_run(room);
    if (run.windows == 0 || !begin_together())
        return {};
    const auto starts = starts_of(run, input_items);
    const std::vector<const void*> in(starts.begin(), starts.end());
    std::vector<void*> out(output_items.begin(), output_items.end());
    for (int port = 0; port < d_p.outputs_ports(); port++)
        out[port] = static_cast<char*>(out[port]) + done * d_p.output_frame(port);
    d_kernel->execute(in, out, int(run.windows), d_streams);
    for (int port = 0; port < d_p.inputs_ports(); port++)
        for (int i = 0; !starts[port] && i < d_p.inputs_of(port).count; i++)
            d_lost[d_p.inputs_of(port).first + i].add(
                position() * d_spectra, (position() + run.windows) * d_spectra);
    for (int64_t i = 0; i < run.windows; i++)
        tag_frame(nitems_written(0) + done + i, position() + i);
    advance(run.windows);
    return { run.windows, int(run.windows) };
}

std::vector<pmt::pmt_t> exchange_impl::settings_behind(int port,
                                                       const pmt::pmt_t& setting)
{
    const auto range = d_p.inputs_of(port);
    const auto input = pmt::intern(tags::input);
    if (!pmt::is_dict(setting) || d_p.inputs_ports() == 1)
        return { setting };
    const auto number = pmt::dict_ref(setting, input, pmt::PMT_NIL);
    if (pmt::is_integer(number))
        return { pmt::dict_add(
            setting, input, pmt::from_long(range.first + pmt::to_long(number))) };
    const auto has = [&](const char* name) {
        return pmt::dict_has_key(setting, pmt::intern(name));
    };
    if (!has(tags::gain) && !has(tags::delay) && !has(tags::phase))
        return { setting }; // not of inputs
    // the setting is of all inputs of this port, which are some of those behind this
    // block
    std::vector<pmt::pmt_t> found;
    for (int i = 0; i < range.count; i++) {
        auto own = pmt::dict_add(setting, input, pmt::from_long(range.first + i));
        for (const char* name : delay_keys) {
            const auto values = pmt::dict_ref(setting, pmt::intern(name), pmt::PMT_NIL);
            if (pmt::is_f64vector(values) && int(pmt::length(values)) == range.count)
                own =
                    pmt::dict_add(own,
                                  pmt::intern(name),
                                  pmt::make_f64vector(1, pmt::f64vector_ref(values, i)));
        }
        found.push_back(own);
    }
    return found;
}

void exchange_impl::tag_frame(uint64_t item, int64_t frame)
{
    const bool begins = std::exchange(d_begins, false);
    const bool corrected = !begins && take_correction(frame);
    const auto changes = take_changes(frame);
    const auto settings = take_settings(frame);
    const double width = input_bandwidth() / d_p.channels;
    const bool partial = d_partial.erase(frame) > 0;
    const auto later =
        std::stable_partition(d_others.begin(), d_others.end(), [=](const auto& t) {
            return int64_t(t.offset) <= frame;
        });
    const int64_t first = frame * d_spectra, end = first + d_spectra;
    for (int port = 0; port < d_p.outputs_ports(); port++) {
        const auto channels = d_p.channels_of(port);
        if (begins)
            tag_description(port,
                            item,
                            { time_of(frame),
                              rate(),
                              width * channels.count,
                              input_samples_per_item(),
                              first_spectrum_of(frame) });
        else if (corrected)
            tag_time(port, item, time_of(frame));
        const int shift = channels.first + channels.count / 2 - d_p.channels / 2;
        for (const auto& change : changes)
            if (shift == 0 || width > 0)
                tag_frequency(
                    port, item, time_of(frame), change.frequency + shift * width);
        if (d_masks)
            continue;
        if (settings)
            tag(port, item, tags::settings, settings);
        if (partial)
            tag(port, item, tags::partial, pmt::PMT_T);
        for (auto t = d_others.begin(); t != later; ++t)
            add_item_tag(port, item, t->key, t->value, t->srcid);
        for (int input = 0; input < d_p.inputs; input++)
            for (const auto& gap : d_lost[input].within(first, end))
                tag_missing(port, item, input, gap.first, gap.end - gap.first);
    }
    d_others.erase(d_others.begin(), later);
    for (auto& lost : d_lost)
        lost.drop_before(end);
}

} // namespace gr::aperture
