/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/pfb/prototype.h"
#include "upchanneliser_impl.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>

namespace gr::aperture {

namespace {

//! Returns the points of a transform, F P/Q.
int points_of(int fine, const std::pair<int64_t, int64_t>& oversampling)
{
    const auto [p, q] = oversampling;
    const std::string ratio = std::to_string(p) + "/" + std::to_string(q);
    const std::string given =
        std::to_string(fine) + " of channels oversampled by " + ratio;
    require(fine * p % q == 0,
            "fine",
            given,
            "a number of which fine x " + ratio + " is whole: a multiple of " +
                std::to_string(q));
    const int64_t points = fine * p / q;
    require(points <= 65536,
            "fine",
            given,
            "a number of which fine x " + ratio + " is at most 65536");
    return int(points);
}

kernels::pfb::parameters kernel_parameters(const upchanneliser::parameters& p)
{
    kernels::pfb::parameters k;
    k.channels = points_of(p.fine, oversampling_of(p.oversampling));
    k.taps = p.taps;
    k.ports = ports_of(p.inputs, p.inputs_per_port);
    k.input =
        parse_sample_type("input_type",
                          p.input_type,
                          { sample_type::fc32, sample_type::sc8, sample_type::sc4 });
    k.output = parse_sample_type(
        "output_type", p.output_type, { sample_type::fc32, sample_type::sc8 });
    // the whole window lies in the ring before the block
    item_size("window of a port",
              { { "taps", p.taps },
                { "fine x oversampling", k.channels },
                { "inputs", p.inputs_per_port },
                { "channels", p.channels } },
              bytes_of(k.input, 1, 1));
    item_size("output item of a port",
              { { "inputs", p.inputs_per_port },
                { "channels", p.channels },
                { "fine", p.fine } },
              size_of(k.output));
    // the kernel has a filter bank for each channel of each input
    require(int64_t(p.inputs) * p.channels <= 1 << 28,
            "channels",
            std::to_string(p.channels) + " x " + std::to_string(p.inputs) + " inputs",
            "at most 268435456 together");
    const int64_t streams = int64_t(p.inputs_per_port) * p.channels;
    require(streams <= 1 << 24,
            "channels",
            std::to_string(p.channels) + " x " + std::to_string(p.inputs_per_port) +
                " inputs of a port",
            "at most 16777216 together");
    k.inputs_per_port = int(streams);
    k.inverted = false;
    k.prototype = p.prototype.empty() ? kernels::prototype(k.channels, p.taps, p.window)
                                      : p.prototype;
    if (k.channels != p.fine) {
        k.kept = p.fine;
        k.first_kept = k.channels / 2 - p.fine / 2;
    }
    return k;
}

//! Returns the prototype of the channels, and the coefficients of one of its taps.
std::pair<std::vector<float>, int> coarse_prototype(const upchanneliser::parameters& p)
{
    if (!p.coarse_prototype.empty()) {
        const size_t numbers = p.coarse_prototype.size();
        const bool finite = std::all_of(p.coarse_prototype.begin(),
                                        p.coarse_prototype.end(),
                                        [](float h) { return std::isfinite(h); });
        require(p.coarse_taps > 0 && numbers % size_t(std::max(1, p.coarse_taps)) == 0,
                "coarse_prototype",
                std::to_string(numbers) + " numbers",
                "a multiple of coarse_taps, " + std::to_string(p.coarse_taps) +
                    ", above 0");
        require(finite, "coarse_prototype", "a number that is not finite", "finite");
        double energy = 0;
        for (float h : p.coarse_prototype)
            energy += double(h) * h;
        auto scaled = p.coarse_prototype;
        for (float& h : scaled)
            h = float(h / std::sqrt(energy > 0 ? energy : 1));
        return { scaled, int(numbers / size_t(p.coarse_taps)) };
    }
    // with more points the response hardly changes
    const int points = std::clamp(p.channels / 2 * 2, 4, 1024);
    return { kernels::prototype(points, p.coarse_taps, p.coarse_window), points };
}

/*!
 * Returns the gain [fine] that takes the shape of the channels out: white noise of the
 * coarse filter bank's samples keeps its power.
 */
std::vector<float> gains_of(const upchanneliser::parameters& p, double gain)
{
    std::vector<float> gains(p.fine, float(gain));
    if (p.coarse_taps == 0 && p.coarse_prototype.empty())
        return gains;
    const auto [h, points] = coarse_prototype(p);
    const auto [over, under] = oversampling_of(p.oversampling);
    const kernels::prototype_response response(h, points);
    const double hop = double(points) * double(under) / double(over);
    // 60 dB below the middle the gain would only raise noise of other channels
    const double least = 1e-6 * response.power(0);
    for (int f = 0; f < p.fine; f++) {
        const double place = double(f - p.fine / 2) / p.fine;
        const double power = response.power(place);
        require(power > least,
                p.coarse_prototype.empty() ? "coarse_window" : "coarse_prototype",
                "a response of " + text_of(10 * std::log10(power / response.power(0))) +
                    " dB " + text_of(place) + " of the spacing from the middle",
                "above -60 dB within +-1/2 spacing");
        gains[size_t(f)] = float(gain * std::sqrt(hop / power));
    }
    return gains;
}

} // namespace

upchanneliser::sptr upchanneliser::make(const parameters& p)
{
    check_parameters<upchanneliser>(p);
    const auto k = kernel_parameters(p);
    const auto gains = gains_of(p, checked_gain(p.gain, k.input, k.output));
    return gnuradio::make_block_sptr<upchanneliser_impl>(
        p, k, gains, device::select(p.device));
}

upchanneliser_impl::upchanneliser_impl(const parameters& p,
                                       const kernels::pfb::parameters& k,
                                       const std::vector<float>& gains,
                                       const device& d)
    : gr::block("upchanneliser",
                signature_on(d,
                             k.ports,
                             item_size("input item of a port",
                                       { { "inputs", p.inputs_per_port },
                                         { "channels", p.channels } },
                                       bytes_of(k.input, 1, 1))),
                signature_on(d,
                             k.ports,
                             item_size("output item of a port",
                                       { { "inputs", p.inputs_per_port },
                                         { "channels", p.channels },
                                         { "fine", p.fine } },
                                       size_of(k.output)))),
      clocked_block(d, k.ports, k.span(1), k.hop()),
      d_channels(p.channels),
      d_fine(p.fine),
      d_inputs_per_port(p.inputs_per_port),
      d_oversampling(oversampling_of(p.oversampling)),
      d_k(k),
      d_gains(gains),
      d_windows(k, 0, d),
      d_kernel(kernels::pfb::make(k, d)),
      d_lost(size_t(p.inputs)),
      d_missing(size_t(p.inputs))
{
    set_latency(p.latency);
    set_most_gap(p.most_gap);
    begin_anew_where_restated();
    set_relative_time(p.relative_time);
    set_follow_clock(p.follow_clock);
    set_history(unsigned(d_windows.length() - d_windows.hop() + 1));
    set_relative_rate(1, uint64_t(d_windows.hop()));
    if (k.input == sample_type::fc32)
        d_kernel->clear_not_numbers(&d_not_numbers);
    const auto spectra =
        spectra_of_ring(output_signature()->sizeof_stream_item(0), k.ports);
    for (int port = 0; port < k.ports && !d.own_memory() && spectra > 0; port++)
        set_min_output_buffer(port, spectra);
}

bool upchanneliser_impl::start()
{
    d_windows.reset();
    d_described = false;
    std::fill(d_lost.begin(), d_lost.end(), intervals());
    return clocked_block::start();
}

void upchanneliser_impl::before_first_call()
{
    std::vector<cfloat> gains;
    gains.reserve(size_t(d_k.inputs()) * d_gains.size());
    for (int stream = 0; stream < d_k.inputs(); stream++)
        gains.insert(gains.end(), d_gains.begin(), d_gains.end());
    d_kernel->set_gains(gains.data(), work_stream());
}

void upchanneliser_impl::forecast(int, gr_vector_int& required)
{
    require_window(required);
}

void upchanneliser_impl::on_begin()
{
    d_described = false;
    const double spacing = input_bandwidth() / d_channels;
    const double ratio = double(d_oversampling.first) / double(d_oversampling.second);
    // headers of recordings are rounded
    if (rate() > 0 && spacing > 0 && std::abs(rate() / (spacing * ratio) - 1) > 1e-4)
        fail("oversampling: " + std::to_string(d_oversampling.first) + "/" +
             std::to_string(d_oversampling.second) + " of " + std::to_string(d_channels) +
             " channels contradicts the tags: rx_rate is " + text_of(rate()) +
             " spectra a second, and bandwidth " + text_of(input_bandwidth()) +
             " Hz makes channels " + text_of(spacing) + " Hz apart, a ratio of " +
             text_of(rate() / spacing));
}

void upchanneliser_impl::on_moved(int64_t ticks)
{
    clocked_block::on_moved(ticks);
    for (auto& lost : d_lost)
        lost.shift(ticks);
}

void upchanneliser_impl::on_tag(int port, const gr::tag_t& tag)
{
    if (const auto lost = read_missing(tag, port, d_inputs_per_port)) {
        const int64_t first = tick_of(port, int64_t(tag.offset));
        d_lost[port * d_inputs_per_port + lost->input].add(first, first + lost->count);
    }
}

clocked_block::progress
upchanneliser_impl::make(int done,
                         int room,
                         const gr_vector_const_void_star& input_items,
                         const gr_vector_void_star& output_items)
{
    const auto run = next_run(room);
    if (run.windows == 0)
        return {};
    const size_t size = output_signature()->sizeof_stream_item(0);
    std::vector<void*> spectra(size_t(d_k.ports));
    for (int port = 0; port < d_k.ports; port++)
        spectra[port] = static_cast<char*>(output_items[port]) + size_t(done) * size;
    tag_spectra(nitems_written(0) + uint64_t(done));
    d_kernel->execute(d_windows.sources(run, starts_of(run, input_items)).data(),
                      spectra.data(),
                      size_t(run.windows),
                      work_stream());
    auto lost = lost_spectra(run);
    add_not_numbers(lost);
    for (int input = 0; input < int(lost.size()); input++) {
        const int port = input / d_inputs_per_port;
        for (const auto& part : lost[input].within(0, run.windows)) {
            if (run.first_item[port] >= 0) // otherwise they are zeros
                clear(input, part, spectra[port]);
            tag_missing(port,
                        nitems_written(0) + uint64_t(done + part.first),
                        input % d_inputs_per_port,
                        uint64_t(position() / d_windows.hop() + part.first),
                        uint64_t(part.end - part.first));
            d_missing[input] += uint64_t(part.end - part.first);
        }
    }
    advance(run.windows);
    for (auto& of_input : d_lost)
        of_input.drop_before(position());
    return { run.windows, int(run.windows) };
}

std::vector<intervals> upchanneliser_impl::lost_spectra(const timeline::run& run)
{
    std::vector<intervals> found(d_lost.size());
    const int64_t hop = d_windows.hop(), length = d_windows.length();
    const int64_t end = position() + (run.windows - 1) * hop + length;
    for (int input = 0; input < int(d_lost.size()); input++) {
        if (run.first_item[input / d_inputs_per_port] < 0)
            found[input].add(0, run.windows);
        for (const auto& lost : d_lost[input].within(position(), end)) {
            // window m has the ticks from m hop to before m hop + length
            const int64_t first = lost.first - position() - length + 1;
            const int64_t last = lost.end - 1 - position();
            found[input].add(first <= 0 ? 0 : (first + hop - 1) / hop,
                             std::min(run.windows, last / hop + 1));
        }
    }
    return found;
}

void upchanneliser_impl::add_not_numbers(std::vector<intervals>& lost)
{
    std::vector<intervals> found(lost.size());
    kernels::take_runs(d_not_numbers, [&](int stream, int64_t first, int64_t count) {
        found[stream / d_channels].add(first, first + count);
    });
    for (int input = 0; input < int(found.size()); input++)
        for (const auto& part : found[input].within(0, timeline::none)) {
            report("not_numbers",
                   input / d_inputs_per_port,
                   position() / d_windows.hop() + part.first,
                   part.end - part.first);
            lost[input].add(part.first, part.end);
        }
}

void upchanneliser_impl::clear(int input, const intervals::interval& lost, void* spectra)
{
    const size_t item = output_signature()->sizeof_stream_item(0);
    const size_t row = item / d_inputs_per_port;
    char* to = static_cast<char*>(spectra) + input % d_inputs_per_port * row;
    for (int64_t m = lost.first; m < lost.end; m++)
        work_stream().clear(to + m * item, row);
}

double upchanneliser_impl::bandwidth() const
{
    if (input_bandwidth() > 0)
        return input_bandwidth();
    return rate() * d_channels * double(d_oversampling.second) /
           double(d_oversampling.first);
}

void upchanneliser_impl::tag_spectra(uint64_t item)
{
    const int64_t hop = d_windows.hop();
    const timestamp time = time_of(double(position()) + d_windows.middle());
    if (!d_described) {
        for (int port = 0; port < d_k.ports; port++)
            tag_description(port,
                            item,
                            { time,
                              rate() / double(hop),
                              bandwidth(),
                              input_samples_per_item() * hop });
        d_described = true;
    } else if (take_correction(position())) {
        for (int port = 0; port < d_k.ports; port++)
            tag_time(port, item, time);
    }
    // rx_freq is that of channel n/2 of n, here and there
    const int64_t all = int64_t(d_channels) * d_fine;
    const int64_t shift = all / 2 - (int64_t(d_channels / 2) * d_fine + d_fine / 2);
    for (const auto& change : take_changes(position()))
        for (int port = 0; port < d_k.ports; port++)
            tag_frequency(port,
                          item,
                          time,
                          change.frequency + double(shift) * bandwidth() / double(all));
    if (const auto settings = take_settings(position()))
        for (int port = 0; port < d_k.ports; port++)
            tag(port, item, tags::settings, settings);
}

std::vector<uint64_t>
upchanneliser_impl::of_inputs(const std::vector<uint64_t>& counts) const
{
    std::vector<uint64_t> sums(d_missing.size());
    for (size_t stream = 0; stream < counts.size(); stream++)
        sums[stream / size_t(d_channels)] += counts[stream];
    return sums;
}

std::vector<uint64_t> upchanneliser_impl::clamped() const
{
    return of_inputs(d_kernel->clamped().output);
}

std::vector<uint64_t> upchanneliser_impl::clamped_samples() const
{
    return of_inputs(d_kernel->clamped().samples);
}

std::vector<uint64_t> upchanneliser_impl::missing() const
{
    return { d_missing.begin(), d_missing.end() };
}

} // namespace gr::aperture
