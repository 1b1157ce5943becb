/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "stream/packet_plan.h"
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

} // namespace

gr::io_signature::sptr packet_plan::signature(bool masks) const
{
    const int bytes = frames() ? item_size("a frame",
                                           { { "channels", channels() },
                                             { "inputs", settings.inputs },
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
    plan.layout = &formats::find_packet_layout("layout", c.layout);
    auto& s = plan.settings;
    s.complex = c.complex;
    formats::set_coding(s, "coding", c.coding);
    s.samples = c.samples;
    s.inputs = c.inputs;
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
    formats::check_packets(*plan.layout, s);
    for (const auto& address : c.addresses)
        plan.addresses.push_back(network::parse_endpoint("addresses", address));
    plan.streams = c.streams;
    if (plan.streams.empty()) {
        const bool each = std::string(plan.layout->name) == "plain";
        const size_t count = each ? std::max<size_t>(1, c.addresses.size()) : 1;
        for (size_t i = 0; i < count; i++)
            plan.streams.push_back(int(i));
    }
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
