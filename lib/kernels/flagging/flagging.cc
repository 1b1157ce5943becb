/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/flagging/flagging.h"
#include <cmath>

namespace gr::aperture::kernels {

void flagging_methods::check(const mask_layout& layout) const
{
    require(kurtosis_false_alarms == 0 ||
                (kurtosis_false_alarms >= 1e-9 && kurtosis_false_alarms <= 0.5),
            "kurtosis_false_alarms",
            text_of(kurtosis_false_alarms),
            "0 (off), or a fraction of cells from 1e-9 to 0.5");
    require(kurtosis_false_alarms == 0 ||
                layout.spectra_per_slice >= 4 * least_kurtosis_spectra,
            "spectra_per_slice",
            std::to_string(layout.spectra_per_slice),
            "at least " + std::to_string(4 * least_kurtosis_spectra) +
                " with kurtosis_false_alarms");
    const std::pair<const char*, double> numbers[] = {
        { "least_power", least_power },       { "most_power", most_power },
        { "time_sigma", time_sigma },         { "channel_sigma", channel_sigma },
        { "time_sum_sigma", time_sum_sigma }, { "channel_sum_sigma", channel_sum_sigma },
    };
    for (const auto& [name, value] : numbers)
        require(value >= 0 && value <= 1e30,
                name,
                text_of(value),
                "0 (off) or a number above, to 1e30");
    require(most_power == 0 || most_power >= least_power,
            "most_power",
            text_of(most_power),
            "0 (off), or at least least_power, which is " + text_of(least_power));
    for (const int channel : bad_channels)
        require(channel >= 0 && channel < layout.channels,
                "bad_channels",
                std::to_string(channel),
                "channels from 0 to " + std::to_string(layout.channels - 1));
    require_range("grown_slices", grown_slices, 0, kept_slices);
    require_range("grown_channels", grown_channels, 0, 1024);
}

void flagging::parameters::check() const
{
    layout.check();
    require(type == sample_type::sc8 || type == sample_type::sc4 ||
                type == sample_type::fc32,
            "type",
            name_of(type),
            "sc8, sc4 or fc32");
    // sums for sc8 fit into 64 bits, and those of |x|^2 into 32
    require_range("spectra_per_slice", layout.spectra_per_slice, 1, 1 << 16);
    methods.check(layout);
}

flagging::tables::tables(const parameters& p, const flagging_methods& m)
    : numbers{}, nodes(quantised_kurtosis::of(p.type).nodes), bad(p.layout.channels)
{
    m.check(p.layout);
    numbers.channels = p.layout.channels;
    numbers.inputs = p.layout.inputs;
    numbers.slices = p.layout.slices();
    numbers.spectra_per_slice = p.layout.spectra_per_slice;
    numbers.least_power = float(m.least_power);
    numbers.most_power = float(m.most_power);
    numbers.time_sigma = float(m.time_sigma);
    numbers.channel_sigma = float(m.channel_sigma);
    numbers.time_sum_sigma = float(m.time_sum_sigma);
    numbers.channel_sum_sigma = float(m.channel_sum_sigma);
    numbers.grown_slices = m.grown_slices;
    numbers.grown_channels = m.grown_channels;
    numbers.kurtosis = m.kurtosis_false_alarms > 0;
    if (numbers.kurtosis)
        limits =
            kurtosis_limit_table(p.layout.spectra_per_slice, m.kurtosis_false_alarms);
    else
        limits.resize(p.layout.spectra_per_slice + 1);
    if (p.type == sample_type::fc32)
        nodes.clear();
    for (const int channel : m.bad_channels)
        bad[channel] = 1;
}

flag_rules flagging::tables::rules(const kurtosis_limits* limit_table,
                                   const quantised_kurtosis::node* node_table,
                                   const uint8_t* bad_table) const
{
    flag_rules r = numbers;
    r.limits = limit_table;
    r.node_count = int(nodes.size());
    r.nodes = nodes.empty() ? nullptr : node_table;
    r.bad = bad_table;
    return r;
}

} // namespace gr::aperture::kernels
