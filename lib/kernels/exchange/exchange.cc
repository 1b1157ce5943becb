/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/exchange/exchange.h"
#include <algorithm>

namespace gr::aperture::kernels {

exchange::range exchange::range_of(int part, int parts, int total)
{
    const auto begin = [=](int64_t k) { return int(k * total / parts); };
    return { begin(part), begin(part + 1) - begin(part) };
}

exchange::range exchange::parameters::inputs_of(int port) const
{
    return range_of(port, inputs_ports(), inputs);
}

exchange::range exchange::parameters::channels_of(int port) const
{
    return range_of(port, outputs_ports(), channels);
}

size_t exchange::parameters::input_frame(int port) const
{
    return size_t(channels) * inputs_of(port).count * row;
}

size_t exchange::parameters::output_frame(int port) const
{
    return size_t(channels_of(port).count) * inputs * row;
}

std::vector<int> exchange::parameters::devices() const
{
    std::vector<int> all;
    for (const auto* ports : { &input_devices, &output_devices })
        for (const int d : *ports)
            if (std::find(all.begin(), all.end(), d) == all.end())
                all.push_back(d);
    return all;
}

int exchange::parameters::place_of(int device) const
{
    const auto all = devices();
    return int(std::find(all.begin(), all.end(), device) - all.begin());
}

void exchange::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("inputs", inputs, 1, 65536);
    require_range("bytes of a channel and input", row, 1, 1 << 30);
    require(!input_devices.empty(), "input_devices", "an empty list", "one or more");
    require(!output_devices.empty(), "output_devices", "an empty list", "one or more");
    require(inputs_ports() <= inputs,
            "input_devices",
            std::to_string(inputs_ports()) + " ports",
            "at most one for each of " + std::to_string(inputs) + " inputs");
    require(outputs_ports() <= channels,
            "output_devices",
            std::to_string(outputs_ports()) + " ports",
            "at most one for each of " + std::to_string(channels) + " channels");
}

exchange::piece
exchange::piece_of(int input, int output, const void* in, void* out, int frames) const
{
    const range inputs = d_p.inputs_of(input), channels = d_p.channels_of(output);
    piece p;
    p.bytes = size_t(inputs.count) * d_p.row;
    p.rows = channels.count;
    p.frames = frames;
    p.from_row = p.bytes;
    p.from_frame = d_p.input_frame(input);
    p.from = in ? static_cast<const char*>(in) + channels.first * p.from_row : nullptr;
    p.to_row = size_t(d_p.inputs) * d_p.row;
    p.to_frame = d_p.output_frame(output);
    p.to = static_cast<char*>(out) + size_t(inputs.first) * d_p.row;
    return p;
}

} // namespace gr::aperture::kernels
