/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "stream/packet_plan.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::aperture {

namespace {

template <size_t Bytes>
void copy_fixed(
    const char* from, size_t from_stride, char* to, size_t to_stride, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        std::memcpy(to + size_t(i) * to_stride, from + size_t(i) * from_stride, Bytes);
}

constexpr int64_t most_streams = 1 << 20;

//! Checks numbers of streams in headers.
void check_numbers(const char* parameter, std::vector<int> numbers)
{
    constexpr int most = 65535;
    std::sort(numbers.begin(), numbers.end());
    for (size_t i = 0; i < numbers.size(); i++) {
        require(numbers[i] >= 0 && numbers[i] <= most,
                parameter,
                std::to_string(numbers[i]),
                "numbers from 0 to " + std::to_string(most));
        require(i == 0 || numbers[i] != numbers[i - 1],
                parameter,
                std::to_string(numbers[i]) + ", twice",
                "each once");
    }
}

} // namespace

gr::io_signature::sptr packet_plan::signature(bool masks) const
{
    const int bytes = frames() ? item_size("a frame",
                                           { { "channels", channels() },
                                             { "inputs", all_inputs() },
                                             { "packets_per_frame", packets_per_frame },
                                             { "samples", settings.samples } },
                                           element())
                               : item_size("a sample of each input",
                                           { { "inputs", inputs_per_port } },
                                           element());
    std::vector<int> sizes(size_t(ports()), bytes);
    if (masks) {
        mask().check();
        sizes.push_back(int(mask().item_bytes()));
    }
    return gr::io_signature::makev(int(sizes.size()), int(sizes.size()), sizes);
}

packet_plan plan_packets(const packet_choices& c)
{
    packet_plan plan;
    plan.layout = formats::find_packet_layout("layout", c.layout);
    auto& s = plan.settings;
    s.complex = c.complex;
    formats::set_coding(s, "coding", c.coding);
    s.samples = c.samples;
    s.inputs = c.inputs;
    s.channels = c.channels;
    require(std::isfinite(c.rate) && c.rate >= 1e-3 && c.rate <= 1e12,
            "rate",
            text_of(c.rate),
            "from 0.001 to 10^12 samples a second");
    s.rate = formats::to_ratio(*formats::decimal::of(c.rate), 1);
    require(std::isfinite(c.center_frequency),
            "center_frequency",
            text_of(c.center_frequency),
            "finite");
    require(std::isfinite(c.bandwidth) && c.bandwidth >= 0,
            "bandwidth",
            text_of(c.bandwidth),
            "0 or a number of Hz above 0");
    formats::complete_settings(plan.layout, s);
    for (const auto& address : c.addresses)
        plan.addresses.push_back(network::parse_endpoint("addresses", address));
    require(plan.frames() || c.input_groups.empty(),
            "input_groups",
            std::to_string(c.input_groups.size()) + " of them",
            "empty where there are no frames");
    plan.channel_numbers = plan.frames() ? c.streams : std::vector<int>();
    plan.input_numbers = plan.frames() ? c.input_groups : c.streams;
    if (plan.channel_numbers.empty())
        plan.channel_numbers.push_back(0);
    if (plan.input_numbers.empty()) {
        plan.input_numbers.push_back(0);
        for (int i = 1; plan.layout.input_is_address && i < int(c.addresses.size()); i++)
            plan.input_numbers.push_back(i);
    }
    check_numbers("streams", plan.frames() ? plan.channel_numbers : plan.input_numbers);
    if (plan.frames())
        check_numbers("input_groups", plan.input_numbers);
    require(int64_t(plan.channel_numbers.size()) * int64_t(plan.input_numbers.size()) <=
                    most_streams &&
                int64_t(plan.channel_numbers.size()) * s.channels <= most_streams &&
                int64_t(plan.input_numbers.size()) * s.inputs <= most_streams,
            "streams",
            std::to_string(c.streams.size()) + " of them",
            "so few that channels, inputs and packets of one time are at most 2^20 each");
    plan.headers(); // throws where no headers can say these settings
    const int inputs = plan.all_inputs();
    plan.inputs_per_port = c.inputs_per_port ? c.inputs_per_port : inputs;
    require(plan.inputs_per_port > 0 && inputs % plan.inputs_per_port == 0 &&
                (!plan.frames() || plan.inputs_per_port == inputs),
            "inputs_per_port",
            std::to_string(c.inputs_per_port),
            plan.frames() ? "0 for frames, which have all inputs"
                          : "a divisor of the number of inputs, " +
                                std::to_string(inputs) + ", or 0 for all of them");
    require_range("packets_per_frame", c.packets_per_frame, 1, 1 << 20);
    require(plan.frames() || c.packets_per_frame == 1,
            "packets_per_frame",
            std::to_string(c.packets_per_frame),
            "1 where there are no frames");
    plan.packets_per_frame = c.packets_per_frame;
    return plan;
}

void copy_column(const char* from,
                 size_t from_stride,
                 char* to,
                 size_t to_stride,
                 size_t bytes,
                 int64_t rows)
{
    if (!from) {
        for (int64_t i = 0; i < rows; i++)
            std::memset(to + size_t(i) * to_stride, 0, bytes);
        return;
    }
    switch (bytes) {
    case 1:
        return copy_fixed<1>(from, from_stride, to, to_stride, rows);
    case 2:
        return copy_fixed<2>(from, from_stride, to, to_stride, rows);
    case 4:
        return copy_fixed<4>(from, from_stride, to, to_stride, rows);
    case 8:
        return copy_fixed<8>(from, from_stride, to, to_stride, rows);
    case 16:
        return copy_fixed<16>(from, from_stride, to, to_stride, rows);
    }
    for (int64_t i = 0; i < rows; i++)
        std::memcpy(to + size_t(i) * to_stride, from + size_t(i) * from_stride, bytes);
}

} // namespace gr::aperture
