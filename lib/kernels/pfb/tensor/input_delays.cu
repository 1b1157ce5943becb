/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/tensor/input_delays.h"
#include "kernels/pfb/tensor/tensor.cuh"
#include <cmath>

namespace gr::aperture::kernels::cuda::tensor {

namespace {

phase_cycles cycles_of(const phase_slope& p)
{
    // whole cycles fall away; half of one would be too much for 64 bits with a sign
    const auto fixed = [](double cycles) {
        return 2 * uint64_t(std::llrint(std::ldexp(std::remainder(cycles, 1.), 63)));
    };
    return { fixed(p.start0), fixed(p.start_rate), fixed(p.slope0), fixed(p.slope_rate) };
}

} // namespace

input_delays::input_delays(const pfb::parameters& p)
    : d_p(p), d_cycles(p.inputs(), 3), d_shifts(p.inputs(), 3)
{
}

void input_delays::set(const delay* delays, cudaStream_t s)
{
    d_number = 0;
    d_delays.clear();
    if (!delays)
        return;
    d_delays.assign(delays, delays + d_p.inputs());
    std::vector<phase_cycles> cycles;
    std::vector<int64_t> shifts;
    for (const auto& d : d_delays) {
        const auto phases =
            phase_slope_of(d, d_p.channels, !is_complex(d_p.input), d_p.inverted);
        cycles.push_back(cycles_of(phases));
        // rows of inputs that are taken apart are shifted already
        shifts.push_back(d_p.inputs_per_port > 1 ? 0 : d.samples);
    }
    d_cycles.set(cycles.data(), s);
    d_shifts.set(shifts.data(), s);
}

void input_delays::tell(delay_call& c) const
{
    c.shifts = d_shifts.data();
    c.cycles = d_cycles.data();
    c.number = d_number;
    c.lead = lead();
}

int input_delays::lead() const { return int(d_all % slot_spectra); }

std::vector<delay> input_delays::current() const
{
    auto all = d_delays;
    for (auto& d : all)
        d = d.after(double(d_number));
    return all;
}

} // namespace gr::aperture::kernels::cuda::tensor
