/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "channel_source_impl.h"
#include "kernels/common/quantise.h"
#include "kernels/common/simd.h"
#include <gnuradio/io_signature.h>
#include <cmath>
#include <cstring>

namespace gr::aperture {

namespace {

// Bytes of the items that are read at a time where they are converted.
constexpr int64_t converted_bytes = 1 << 20;

// Multiplies complex samples, re, im, re, im ..., with a gain.
#define APERTURE_SCALE(name, number)                                       \
    APERTURE_SIMD void name(                                               \
        const number* in, int64_t samples, float re, float im, float* out) \
    {                                                                      \
        for (int64_t i = 0; i < samples; i++) {                            \
            const float a = float(in[2 * i]), b = float(in[2 * i + 1]);    \
            out[2 * i] = a * re - b * im;                                  \
            out[2 * i + 1] = a * im + b * re;                              \
        }                                                                  \
    }
APERTURE_SCALE(scale_bytes, int8_t)
APERTURE_SCALE(scale_words, int16_t)
APERTURE_SCALE(scale_floats, float)
#undef APERTURE_SCALE

void check_gain(std::complex<float> gain)
{
    require(std::isfinite(gain.real()) && std::isfinite(gain.imag()),
            "gain",
            text_of(gain.real()) + " + " + text_of(gain.imag()) + "i",
            "finite");
}

// Returns the rows of the parameter `layout`.
std::vector<formats::channel_place> places_of(const channel_source::parameters& p)
{
    std::vector<formats::channel_place> places;
    require(!p.layout.empty(), "layout", "an empty list", "at least one row");
    for (size_t i = 0; i < p.layout.size(); i++) {
        const auto& row = p.layout[i];
        constexpr int64_t most = int64_t(1) << 40; // more than any block has
        const auto is = [&](size_t place, int64_t low, int64_t high) {
            return row[place] >= low && row[place] < high;
        };
        require(row.size() == 9 && is(0, 0, p.inputs) && is(1, 0, p.inputs) &&
                    is(2, 0, p.channels) && is(3, 1, p.channels - row[2] + 1) &&
                    is(4, -most, most) && is(5, -most, most) && is(6, 1, most) &&
                    is(7, -most, most) && is(8, -most, most),
                "layout[" + std::to_string(i) + "]",
                text_of_row(row),
                "(set, input, first_channel, channels, offset, channel_stride, "
                "time_stride, offset_rows, channel_rows): a set and an input below " +
                    std::to_string(p.inputs) + ", channels that are among the " +
                    std::to_string(p.channels) +
                    ", a time_stride of 1 or more, strides and offsets within 2^40");
        places.push_back({ int(row[0]),
                           int(row[1]),
                           int(row[2]),
                           int(row[3]),
                           row[4],
                           row[5],
                           row[6],
                           row[7],
                           row[8] });
    }
    return places;
}

} // namespace

channel_source::sptr channel_source::make(const parameters& p)
{
    check_parameters<channel_source>(p);
    check_gain(p.gain);
    const auto rate = rate_of(p.rate);
    item_size("a spectrum of all inputs",
              { { "inputs", p.inputs }, { "channels", p.channels } },
              size_of(sample_type::fc32));
    recording r;
    r.channelised = formats::channel_layout{ formats::parse_coding("coding", p.coding),
                                             p.inputs,
                                             p.channels,
                                             places_of(p),
                                             1,
                                             false };
    const std::string problem = r.channelised->problem();
    require(problem.empty(),
            "layout",
            std::to_string(p.layout.size()) + " rows",
            "each channel of each input in one row: " + problem);
    r.width = p.width;
    set_common(r, p, rate);
    r.readers = p.readers;
    r.approximate = p.approximate;
    r.pieces = pieces_of(
        p.pieces, p.inputs, *r.files, true, [&](const formats::piece& piece, int set) {
            return r.channelised->bytes_of(piece, set);
        });
    set_length(r, p.samples);
    return gnuradio::make_block_sptr<channel_source_impl>(r, p);
}

channel_source_impl::channel_source_impl(const recording& r, const parameters& p)
    : gr::sync_block(
          "channel_source",
          gr::io_signature::make(0, 0, 0),
          gr::io_signature::make(
              r.ports(),
              r.ports(),
              item_size(
                  "a spectrum of each input",
                  { { "inputs", r.inputs_per_port() }, { "channels", r.channels() } },
                  size_of(parse_sample_type(
                      "type", p.type, { sample_type::sc8, sample_type::fc32 }))))),
      recording_source_impl(r),
      d_channels(p.channels),
      d_recorded(r.type()),
      d_type(parse_sample_type("type", p.type, { sample_type::sc8, sample_type::fc32 })),
      d_gains(size_t(p.inputs), p.gain),
      d_not_fitting(size_t(p.inputs)),
      d_items(size_t(r.ports())),
      d_spectrum(2 * size_t(p.channels))
{
}

void channel_source_impl::set_gain(std::complex<float> gain, int input)
{
    check_gain(gain);
    require_range("input", input, -1, inputs() - 1);
    std::lock_guard<std::mutex> guard(d_gain_mutex);
    if (input >= 0)
        d_gains[size_t(input)] = gain;
    else
        std::fill(d_gains.begin(), d_gains.end(), gain);
}

std::vector<std::complex<float>> channel_source_impl::gains() const
{
    std::lock_guard<std::mutex> guard(d_gain_mutex);
    return d_gains;
}

std::vector<uint64_t> channel_source_impl::clamped() const
{
    auto counts = recording_source_impl::clamped();
    for (size_t i = 0; i < counts.size(); i++)
        counts[i] += d_not_fitting[i];
    return counts;
}

bool channel_source_impl::start()
{
    if (nitems_written(0) == 0)
        for (auto& count : d_not_fitting)
            count = 0;
    return recording_source_impl::start();
}

void channel_source_impl::convert(int port, const void* items, int64_t count, void* out)
{
    const auto gains = this->gains();
    const int64_t each = inputs_per_port();
    const size_t read = size_t(d_channels) * size_of(d_recorded);
    const size_t sent = size_t(d_channels) * size_of(d_type);
    for (int64_t i = 0; i < count * each; i++) {
        const void* in = static_cast<const char*>(items) + size_t(i) * read;
        char* to = static_cast<char*>(out) + size_t(i) * sent;
        const size_t input = size_t(port * each + i % each);
        const float re = gains[input].real(), im = gains[input].imag();
        float* floats = d_type == sample_type::fc32 ? reinterpret_cast<float*>(to)
                                                    : d_spectrum.data();
        if (d_recorded == sample_type::sc8)
            scale_bytes(static_cast<const int8_t*>(in), d_channels, re, im, floats);
        else if (d_recorded == sample_type::sc16)
            scale_words(static_cast<const int16_t*>(in), d_channels, re, im, floats);
        else
            scale_floats(static_cast<const float*>(in), d_channels, re, im, floats);
        if (d_type == sample_type::sc8)
            d_not_fitting[input] += kernels::host::quantise(
                floats, size_t(d_channels), reinterpret_cast<int8_t*>(to));
    }
}

int channel_source_impl::work(int noutput_items,
                              gr_vector_const_void_star& input_items,
                              gr_vector_void_star& output_items)
{
    const auto gains = this->gains();
    const bool unchanged = std::all_of(
        gains.begin(), gains.end(), [](const auto& gain) { return gain == 1.0f; });
    if (d_recorded == d_type && unchanged)
        return recording_source_impl::work(noutput_items, input_items, output_items);
    const int64_t item = int64_t(inputs_per_port()) * d_channels * size_of(d_recorded);
    const int64_t most = std::max(samples_wanted(), converted_bytes / item);
    const int count = int(std::min<int64_t>(noutput_items, most));
    gr_vector_void_star read;
    for (auto& items : d_items) {
        items.resize(size_t(count * item));
        read.push_back(items.data());
    }
    const int got = recording_source_impl::work(count, input_items, read);
    for (int port = 0; port < int(read.size()); port++)
        convert(port, read[size_t(port)], std::max(0, got), output_items[size_t(port)]);
    return got;
}

} // namespace gr::aperture
