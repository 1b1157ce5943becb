/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "control/filter_windows.h"
#include "kernels/pfb/prototype.h"
#include "runtime/backend.h"
#include "stream/clocked_block.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <regex>

namespace gr::aperture {

std::pair<int64_t, int64_t> oversampling_of(const std::string& text)
{
    static const std::regex form("\\s*(\\d{1,6})\\s*(?:/\\s*(\\d{1,6})\\s*)?");
    std::smatch parts;
    const bool read = std::regex_match(text, parts, form);
    const int64_t p = read ? std::stoll(parts[1]) : 0;
    const int64_t q = !read ? 0 : parts[2].matched ? std::stoll(parts[2]) : 1;
    require(q > 0 && p >= q,
            "oversampling",
            "'" + text + "'",
            "a ratio P/Q of whole numbers, at least 1, such as 32/27 or 4/3");
    const int64_t divisor = std::gcd(p, q);
    return { p / divisor, q / divisor };
}

double checked_gain(double gain, sample_type input, sample_type output)
{
    require(std::abs(gain) <= std::numeric_limits<float>::max(),
            "gain",
            text_of(gain),
            "finite, in single precision too");
    require(
        gain != 0 || output != sample_type::sc8 || input == sample_type::sc8,
        "gain",
        "0 (not given)",
        "given for sc8 from " + name_of(input) +
            ": 20 divided by the rms of the samples leaves room for 6 times that rms");
    return gain == 0 ? 1 : gain;
}

int64_t spectra_of_ring(int64_t spectrum_bytes, int ports)
{
    constexpr int64_t ring_bytes = 1 << 20, bytes_of_all_rings = 1 << 27;
    return std::min(ring_bytes, bytes_of_all_rings / ports) / spectrum_bytes;
}

namespace {

//! Returns the samples from one spectrum to the next, 0 where they are as many as the
//! transform has.
int hop_of(const std::string& oversampling, const kernels::pfb::parameters& k)
{
    const auto [p, q] = oversampling_of(oversampling);
    if (p == q)
        return 0;
    const int64_t product = k.length() * q, hop = product / p;
    const std::string kind = is_complex(k.input) ? "" : "2 x ";
    require(product % p == 0,
            "oversampling",
            std::to_string(p) + "/" + std::to_string(q) + " of " +
                std::to_string(k.channels) + " channels",
            "a ratio of which " + kind + "channels x Q / P is a whole number of samples");
    const int unit = samples_in_item(k.input, k.inputs_per_port);
    require(hop % unit == 0,
            "oversampling",
            std::to_string(p) + "/" + std::to_string(q) + ", a spectrum every " +
                std::to_string(hop) + " samples",
            "a ratio that makes it a multiple of " + std::to_string(unit) +
                ", the samples of an item of " + name_of(k.input));
    return int(hop);
}

} // namespace

kernels::pfb::parameters filter_parameters(const pfb_channelizer::parameters& p)
{
    kernels::pfb::check_channels(p.channels);
    kernels::pfb::parameters k;
    k.channels = p.channels;
    k.taps = p.taps;
    k.ports = ports_of(p.inputs, p.inputs_per_port);
    k.inputs_per_port = p.inputs_per_port;
    k.input = parse_sample_type("input_type", p.input_type);
    k.output = parse_sample_type(
        "output_type", p.output_type, { sample_type::fc32, sample_type::sc8 });
    k.inverted = p.inverted;
    k.oversampled_hop = hop_of(p.oversampling, k);
    k.prototype = p.prototype.empty() ? kernels::prototype(k.length(), p.taps, p.window)
                                      : p.prototype;
    checked_gain(p.gain, k.input, k.output);
    return k;
}

std::string warning_of_aliases(const kernels::pfb::parameters& p)
{
    constexpr double allowed = -60; // dB
    if (!p.oversampled())
        return {};
    const double found = kernels::alias_of(p.prototype, p.length(), p.hop());
    if (found <= allowed)
        return {};
    return "oversampling: with " + std::to_string(p.taps) + " taps " +
           std::to_string(int(std::lround(found))) +
           " dB alias into the middle of each channel; more taps, or a larger ratio, "
           "make "
           "it less than " +
           std::to_string(int(allowed)) + " dB";
}

int sample_item_size(const kernels::pfb::parameters& p)
{
    const int samples = samples_in_item(p.input, p.inputs_per_port);
    return int(bytes_of(p.input, samples, p.inputs_per_port));
}

namespace {

//! The delays of a connected array stay below so many seconds.
constexpr double usual_delay = 100e-6;
constexpr int64_t largest_delay = 1 << 28; // samples, as a buffer has 2^31 items at most

//! Returns the bytes of a port: a CPU's thread makes spectra of at most a gigabyte a
//! second, of which this is more than twice `usual_delay`. On a device it is a part of
//! the ring that does not make that larger.
int64_t default_room(const device& d)
{
    return d.own_memory() ? int64_t(d.own_memory()->default_ring() / 4) : 256 << 10;
}

int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b > 0); }

} // namespace

filter_windows::filter_windows(const kernels::pfb::parameters& p,
                               int64_t most_delay,
                               const device& d)
    : d_p(p),
      d_samples(samples_in_item(p.input, p.inputs_per_port)),
      d_most_delay(most_delay),
      d_room(most_delay > 0 ? divide_up(most_delay, d_samples)
                            : default_room(d) / sample_item_size(p)),
      d_sources(p.ports),
      d_counted(p.ports)
{
    require_range("most_delay", most_delay, 0, largest_delay);
}

int64_t filter_windows::room_for_delays(std::optional<double> item_rate) const
{
    if (d_most_delay > 0 || !item_rate)
        return d_room;
    return std::min(d_room, int64_t(std::min(std::ceil(usual_delay * *item_rate), 1e15)));
}

int filter_windows::history() const
{
    // the items that are kept and two windows, as GNU Radio doubles the request: no
    // window needs the zeros themselves
    return int(length() - hop() + 1 + room_for_delays());
}

timeline::reach filter_windows::reach_of(int port,
                                         const delay_settings::change& delays) const
{
    const int input = port * d_p.inputs_per_port, end = input + d_p.inputs_per_port;
    const auto first = delays.delays.begin();
    const auto [least, most] =
        std::minmax_element(first + input, first + end, [](const auto& a, const auto& b) {
            return a.samples < b.samples;
        });
    const auto lost = delays.out_of_range.begin();
    return { divide_up(most->samples, d_samples),
             divide_up(-least->samples, d_samples),
             std::find(lost + input, lost + end, true) == lost + end };
}

double filter_windows::middle() const
{
    return (double(d_p.span(1)) - 1) / 2 / d_samples;
}

double filter_windows::bandwidth(double item_rate) const
{
    const double rate = item_rate * d_samples;
    return is_complex(d_p.input) ? rate : rate / 2;
}

double filter_windows::frequency_shift(double item_rate) const
{
    // reversed, the real channel at fs/4 is not channel n/2 but the one below it
    return d_p.inverted && !is_complex(d_p.input) ? item_rate * d_samples / d_p.length()
                                                  : 0;
}

void filter_windows::reset() { std::fill(d_counted.begin(), d_counted.end(), 0); }

const std::vector<kernels::pfb::source>&
filter_windows::sources(const timeline::run& run, const std::vector<const char*>& items)
{
    const int64_t length = d_p.span(run.windows) / d_samples;
    for (int port = 0; port < d_p.ports; port++) {
        d_sources[port] = { items[port], 0 };
        if (!items[port])
            continue;
        const int64_t first = run.first_item[port];
        d_sources[port].counted =
            std::max<int64_t>(0, d_counted[port] - first) * d_samples;
        d_counted[port] = std::max(d_counted[port], first + length);
    }
    return d_sources;
}

} // namespace gr::aperture
