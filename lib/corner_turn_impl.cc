/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "corner_turn_impl.h"
#include <limits>

namespace gr::aperture {

namespace {

kernels::corner_turn::parameters kernel_parameters(const corner_turn::parameters& p)
{
    require_align(p.align);
    kernels::corner_turn::parameters k;
    k.channels = p.channels;
    k.ports = ports_of(p.inputs, p.inputs_per_port);
    k.inputs_per_port = p.inputs_per_port;
    k.spectra_per_frame = p.spectra_per_frame;
    k.type = parse_sample_type(
        "type", p.type, { sample_type::sc8, sample_type::sc4, sample_type::fc32 });
    k.first_channel = p.first_channel;
    k.selected_channels =
        p.selected_channels == 0 ? p.channels - p.first_channel : p.selected_channels;
    k.check();
    return k;
}

io_signature::sptr input_signature_of(const kernels::corner_turn::parameters& k,
                                      const device& d)
{
    return signature_on(
        d,
        k.ports,
        item_size("input item",
                  { { "inputs", k.inputs_per_port }, { "channels", k.channels } },
                  size_of(k.type)));
}

} // namespace

corner_turn::sptr corner_turn::make(const parameters& p)
{
    check_parameters<corner_turn>(p);
    return gnuradio::make_block_sptr<corner_turn_impl>(
        p, kernel_parameters(p), device::select(p.device));
}

corner_turn_impl::corner_turn_impl(const parameters& p,
                                   const kernels::corner_turn::parameters& k,
                                   const device& d)
    : gr::block("corner_turn",
                input_signature_of(k, d),
                signature_on(
                    d,
                    1,
                    frame_item_size(
                        k.selected_channels, k.inputs(), k.spectra_per_frame, k.type))),
      frame_writer(d, k, 1, 1, p.align),
      d_p(k),
      d_kernel(kernels::corner_turn::make(k, d))
{
    set_latency(p.latency);
    set_most_gap(p.most_gap);
    begin_anew_where_restated();
    set_relative_time(p.relative_time);
    set_follow_clock(p.follow_clock);
    if (k.type == sample_type::fc32)
        d_kernel->clear_not_numbers(&d_not_numbers);
}

frame_writer::spectra_facts corner_turn_impl::facts() const
{
    return {
        0, rate(), input_bandwidth(), input_samples_per_item(), 0, first_spectrum_of(0)
    };
}

void corner_turn_impl::on_tag(int port, const gr::tag_t& tag)
{
    if (const auto lost = read_missing(tag, port, d_p.inputs_per_port)) {
        const int64_t first = tick_of(port, tag.offset);
        miss(port * d_p.inputs_per_port + lost->input, first, first + lost->count);
    }
}

int64_t corner_turn_impl::prepare(int64_t) { return std::numeric_limits<int64_t>::max(); }

void corner_turn_impl::write(const timeline::run&,
                             const std::vector<const char*>& starts,
                             void* frame,
                             int first,
                             int count)
{
    const std::vector<const void*> spectra(starts.begin(), starts.end());
    d_kernel->execute(spectra.data(), frame, first, count, work_stream());
    kernels::take_runs(d_not_numbers, [&](int input, int64_t at, int64_t spectra) {
        const int64_t begin = position() + at;
        report("not_numbers", input / d_p.inputs_per_port, begin, spectra);
        miss(input, begin, begin + spectra);
    });
}

std::vector<uint64_t> corner_turn_impl::clamped() const { return d_kernel->clamped(); }

std::vector<uint64_t> corner_turn_impl::missing() const { return missing_spectra(); }

std::string corner_turn_impl::implementation() const
{
    return d_kernel->implementation();
}

} // namespace gr::aperture
