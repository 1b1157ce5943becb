/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "zoom_impl.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture {

namespace {

kernels::zoom::parameters kernel_parameters(const zoom::parameters& p,
                                            const kernels::zoom_filter& filter)
{
    kernels::zoom::parameters k;
    k.ports = ports_of(p.inputs, p.inputs_per_port);
    k.inputs_per_port = p.inputs_per_port;
    k.input = parse_sample_type("input_type", p.input_type);
    k.output = parse_sample_type(
        "output_type", p.output_type, { sample_type::fc32, sample_type::sc8 });
    require(std::abs(p.gain) <= std::numeric_limits<float>::max() / 2,
            "gain",
            text_of(p.gain),
            "finite, in single precision too");
    require(p.gain != 0 || p.output_type != "sc8",
            "gain",
            "0 (not given)",
            "given for sc8: 20 divided by the rms of a component leaves room for 6 times "
            "that rms");
    // mirrored real samples are as those of the opposite frequency
    k.conjugated = p.inverted && is_complex(k.input);
    k.stages = filter.stages;
    const double gain = (p.gain == 0 ? 1 : p.gain) * (is_complex(k.input) ? 1 : 2);
    for (float& h : k.stages.back().taps)
        h = float(h * gain);
    k.check();
    // the whole window lies in the ring before the block
    item_size("window of a port",
              { { "taps", int64_t(k.span(1)) }, { "inputs", k.inputs_per_port } },
              std::max<size_t>(1, bytes_of(k.input, 1, 1)));
    return k;
}

//! Returns the bytes of an item of a port.
int input_size(const kernels::zoom::parameters& k)
{
    const int samples = samples_in_item(k.input, k.inputs_per_port);
    return int(bytes_of(k.input, samples, k.inputs_per_port));
}

} // namespace

zoom::sptr zoom::make(const parameters& p)
{
    check_parameters<zoom>(p);
    const auto filter = kernels::design_zoom_filter(p.decimation, p.passband);
    return gnuradio::make_block_sptr<zoom_impl>(
        p, kernel_parameters(p, filter), filter, device::select(p.device));
}

zoom_impl::zoom_impl(const parameters& p,
                     const kernels::zoom::parameters& k,
                     const kernels::zoom_filter& filter,
                     const device& d)
    : gr::block("zoom",
                signature_on(d, k.ports, input_size(k)),
                signature_on(d,
                             k.ports,
                             item_size(name_of(k.output) + " item of a port",
                                       { { "inputs", k.inputs_per_port } },
                                       size_of(k.output)))),
      clocked_block(d,
                    k.ports,
                    (k.span(1) + samples_in_item(k.input, k.inputs_per_port) - 1) /
                        samples_in_item(k.input, k.inputs_per_port),
                    k.hop() / samples_in_item(k.input, k.inputs_per_port)),
      d_p(k),
      d_frequency(p.frequency),
      d_passband(p.passband),
      d_ripple(filter.ripple),
      d_attenuation(filter.attenuation),
      d_inverted(p.inverted),
      d_samples(samples_in_item(k.input, k.inputs_per_port)),
      d_hop(k.hop() / d_samples),
      d_kernel(kernels::zoom::make(k, d)),
      d_read(k.ports),
      d_delays(k.ports, k.inputs_per_port, p.frequency, p.inverted),
      d_missing(k.inputs())
{
    set_latency(p.latency);
    set_most_gap(p.most_gap);
    set_relative_time(p.relative_time);
    set_follow_clock(p.follow_clock);
    take_filled_samples();
    // for a buffer of the items that samples share, and of two windows, as GNU Radio
    // doubles the request
    set_history(unsigned(k.span(1) / d_samples + 1));
    set_relative_rate(1, uint64_t(d_hop));
    if (k.input == sample_type::fc32 || k.input == sample_type::f32)
        d_kernel->clear_not_numbers(&d_not_numbers);
}

std::vector<std::pair<int, int>> zoom_impl::stages() const
{
    std::vector<std::pair<int, int>> all;
    for (const auto& s : d_p.stages)
        all.emplace_back(s.decimation, int(s.taps.size()));
    return all;
}

bool zoom_impl::start()
{
    d_read.assign(d_p.ports, {});
    d_delays.clear();
    d_described = d_tuned = false;
    d_origin = 0;
    return clocked_block::start();
}

void zoom_impl::forecast(int, gr_vector_int& required) { require_window(required); }

bool zoom_impl::tune()
{
    if (d_tuned)
        return true;
    const double fs = rate() * d_samples;
    if (!(fs > 0))
        return fail(
            std::string("the samples have no tag rx_rate, by which a frequency in "
                        "Hz is found") +
            who_says_the_rate);
    const bool real = !is_complex(d_p.input);
    const double band = real ? fs / 2 : fs, part = d_passband * fs / d_p.hop();
    if (!(std::abs(d_frequency) + part / 2 <= band / 2 * (1 + 1e-9)))
        return fail("frequency: " + text_of(d_frequency) +
                    " Hz is not allowed: the passband of " + text_of(part) +
                    " Hz must lie within the band of " + text_of(band) +
                    " Hz, so that it must be from -" + text_of((band - part) / 2) +
                    " to " + text_of((band - part) / 2) + " Hz");
    const int quarters = !real ? 0 : d_inverted ? -1 : 1;
    d_kernel->set_oscillator({ d_frequency, fs, quarters }, work_stream());
    d_tuned = true;
    return true;
}

clocked_block::progress zoom_impl::make(int done,
                                        int room,
                                        const gr_vector_const_void_star& input_items,
                                        const gr_vector_void_star& output_items)
{
    const auto run = next_run(room);
    if (run.windows == 0 || !tune())
        return {};
    const size_t size = output_signature()->sizeof_stream_item(0);
    std::vector<void*> to(d_p.ports);
    for (int port = 0; port < d_p.ports; port++)
        to[port] = static_cast<char*>(output_items[port]) + done * size;
    const uint64_t item = nitems_written(0) + done;
    const int64_t first = next_sample();
    tag_samples(item, run);
    d_kernel->execute(sources(run, starts_of(run, input_items)).data(),
                      to.data(),
                      first - d_origin,
                      run.windows,
                      work_stream());
    kernels::take_runs(d_not_numbers, [&](int input, int64_t begin, int64_t count) {
        const int port = input / d_p.inputs_per_port;
        report("not_numbers", port, first + begin, count);
        tag_missing(port,
                    item + uint64_t(begin),
                    input % d_p.inputs_per_port,
                    uint64_t(first + begin),
                    uint64_t(count));
        d_missing[input] += uint64_t(count);
    });
    advance(run.windows);
    return { run.windows, int(run.windows) };
}

std::vector<kernels::zoom::source>
zoom_impl::sources(const timeline::run& run, const std::vector<const char*>& starts)
{
    std::vector<kernels::zoom::source> all(d_p.ports);
    for (int port = 0; port < d_p.ports; port++) {
        auto& read = d_read[port];
        all[port].samples = starts[port];
        if (!starts[port]) {
            read.next = -1;
            continue;
        }
        const int64_t first = run.first_item[port], next = first + run.windows * d_hop;
        const int64_t window = (d_p.span(1) + d_samples - 1) / d_samples;
        all[port].counted =
            size_t(std::max<int64_t>(0, read.counted - first) * d_samples);
        all[port].follows = read.next == first && read.position == position();
        read.counted = std::max(read.counted, next - d_hop + window);
        read.next = next;
        read.position = position() + run.windows * d_hop;
    }
    return all;
}

void zoom_impl::on_begin()
{
    d_described = false;
    d_origin = next_sample();
    for (auto& read : d_read)
        read.next = -1;
}

void zoom_impl::on_moved(int64_t ticks) { d_delays.move(ticks); }

void zoom_impl::on_tag(int port, const gr::tag_t& tag)
{
    try {
        d_delays.read(port, tick_of(port, int64_t(tag.offset)), tag);
    } catch (const std::invalid_argument& e) {
        refuse(e.what());
    }
}

timestamp zoom_impl::time_of_sample(int64_t sample) const
{
    return time_of(double(sample) * double(d_hop) +
                   double(d_p.span(1) - 1) / 2 / d_samples);
}

void zoom_impl::tag_samples(uint64_t item, const timeline::run& run)
{
    const int64_t first = next_sample();
    const timestamp time = time_of_sample(first);
    const double output_rate = rate() / double(d_hop);
    if (!d_described) {
        for (int port = 0; port < d_p.ports; port++)
            tag_description(port, item, { time, output_rate, output_rate, 0 });
        d_described = true;
    } else if (take_correction(position())) {
        for (int port = 0; port < d_p.ports; port++)
            tag_time(port, item, time);
    }
    // a change holds from the first sample whose filter lies behind it as a whole
    for (const auto& change : take_changes(position()))
        for (int port = 0; port < d_p.ports; port++)
            tag_frequency(port, item, time, change.frequency + d_frequency);
    if (const auto settings = take_settings(position()))
        for (int port = 0; port < d_p.ports; port++)
            tag(port, item, tags::settings, settings);
    tag_delays(item, run.windows);
    for (int port = 0; port < d_p.ports; port++)
        for (int i = 0; i < d_p.inputs_per_port && run.first_item[port] < 0; i++) {
            tag_missing(port, item, i, uint64_t(first), uint64_t(run.windows));
            d_missing[port * d_p.inputs_per_port + i] += uint64_t(run.windows);
        }
}

void zoom_impl::tag_delays(uint64_t item, int64_t samples)
{
    const int64_t first = next_sample();
    d_delays.take(
        first,
        first + samples,
        d_hop,
        double(d_p.span(1) - 1) / 2 / d_samples,
        1 / rate(),
        [&](int port, int64_t sample, const char* name, const std::vector<double>& v) {
            tag(port,
                item + uint64_t(sample - first),
                name,
                pmt::init_f64vector(v.size(), v));
        });
}

std::vector<uint64_t> zoom_impl::missing() const
{
    return { d_missing.begin(), d_missing.end() };
}

} // namespace gr::aperture
