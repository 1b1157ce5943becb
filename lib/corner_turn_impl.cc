/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "corner_turn_impl.h"
#include <gnuradio/aperture/tags.h>
#include <cmath>

namespace gr {
namespace aperture {

namespace {

kernels::corner_turn::parameters kernel_parameters(const corner_turn::parameters& p)
{
    require_range("inputs", p.inputs, 1, 65536);
    require_range("inputs_per_port", p.inputs_per_port, 1, p.inputs);
    require(p.inputs % p.inputs_per_port == 0,
            "inputs_per_port",
            std::to_string(p.inputs_per_port),
            "a divisor of " + std::to_string(p.inputs) + " inputs");
    require(std::isfinite(p.align) && p.align >= 0,
            "align",
            std::to_string(p.align),
            "0 or a number of seconds");
    kernels::corner_turn::parameters k;
    k.channels = p.channels;
    k.ports = p.inputs / p.inputs_per_port;
    k.inputs_per_port = p.inputs_per_port;
    k.times = p.times;
    k.type = parse_sample_type("type", p.type, { sample_type::sc8, sample_type::fc32 });
    k.first_channel = p.first_channel;
    k.selected_channels =
        p.selected_channels == 0 ? p.channels - p.first_channel : p.selected_channels;
    require_ports(k.ports);
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

io_signature::sptr output_signature_of(const kernels::corner_turn::parameters& k,
                                       const device& d)
{
    return signature_on(d,
                        1,
                        item_size("block",
                                  { { "channels", k.selected_channels },
                                    { "inputs", k.inputs() },
                                    { "times", k.times } },
                                  size_of(k.type)));
}

} // namespace

corner_turn::sptr corner_turn::make(const parameters& p)
{
    return gnuradio::make_block_sptr<corner_turn_impl>(
        p, kernel_parameters(p), device::select(p.device));
}

corner_turn_impl::corner_turn_impl(const parameters& p,
                                   const kernels::corner_turn::parameters& k,
                                   const device& d)
    : gr::block("corner_turn", input_signature_of(k, d), output_signature_of(k, d)),
      clocked_block(d, k.ports, 1, 1),
      d_p(k),
      d_align(p.align),
      d_kernel(kernels::corner_turn::make(k, d)),
      d_origin(0),
      d_filled(0),
      d_lost(k.inputs()),
      d_missing(k.inputs())
{
}

bool corner_turn_impl::start()
{
    d_origin = 0;
    d_filled = 0;
    std::fill(d_lost.begin(), d_lost.end(), intervals());
    return clocked_block::start();
}

void corner_turn_impl::on_begin()
{
    if (d_align > 0) {
        if (rate() <= 0) {
            fail("align: " + std::to_string(d_align) +
                 " s needs the tag rx_rate on the first spectrum");
            return;
        }
        // a millionth of a spectrum for the rounding of the time
        const double wait = time_of(0).until_multiple_of(d_align) * rate();
        set_position(std::llround(std::ceil(wait - 1e-6)));
        const double spectra = d_align * rate();
        if (std::abs(spectra - std::round(spectra)) > 1e-6 * spectra)
            d_logger->info(
                "align: {:g} s are {:f} spectra: integrations of {:.0f} spectra "
                "drift by {:g} s each",
                d_align,
                spectra,
                std::round(spectra),
                std::round(spectra) / rate() - d_align);
    }
    d_origin = position();
}

void corner_turn_impl::on_tag(int port, const gr::tag_t& tag)
{
    if (const auto lost = read_missing(tag, port, d_p.inputs_per_port)) {
        const int64_t first = tick_of(port, tag.offset);
        d_lost[port * d_p.inputs_per_port + lost->input].add(first, first + lost->count);
    }
}

void corner_turn_impl::miss(int port, int64_t first, int64_t end)
{
    for (int i = 0; i < d_p.inputs_per_port; i++)
        d_lost[port * d_p.inputs_per_port + i].add(first, end);
}

void corner_turn_impl::forecast(int, gr_vector_int& required)
{
    require_window(required);
}

int corner_turn_impl::process(int noutput_items,
                              gr_vector_int& ninput_items,
                              gr_vector_const_void_star& input_items,
                              gr_vector_void_star& output_items)
{
    if (!update(ninput_items))
        return failed() || ended() ? WORK_DONE : 0;

    const size_t spectrum_size = input_signature()->sizeof_stream_item(0);
    const size_t block_size = output_signature()->sizeof_stream_item(0);
    std::vector<const void*> spectra(d_p.ports);
    int done = 0;
    while (done < noutput_items) {
        // Spectra go to their place as they come, call after call: the output's memory
        // stays the same until the block is passed on.
        void* block = static_cast<char*>(output_items[0]) + done * block_size;
        const auto run = next_run(d_p.times - d_filled);
        if (run.windows == 0) {
            if (!ended() || d_filled == 0)
                break;
            const int rest = pad(block);
            tag_block(nitems_written(0) + done, rest);
            done++;
            continue;
        }
        for (int port = 0; port < d_p.ports; port++) {
            spectra[port] = nullptr;
            if (const int64_t item = run.first_item[port]; item >= 0)
                spectra[port] = static_cast<const char*>(input_items[port]) +
                                offset_in_buffer(port, item) * spectrum_size;
            else
                miss(port, position(), position() + run.windows);
        }
        d_kernel->execute(spectra.data(), block, d_filled, run.windows, work_stream());
        advance(run.windows);
        d_filled += run.windows;
        if (d_filled == d_p.times) {
            tag_block(nitems_written(0) + done, 0);
            done++;
        }
    }
    consume_passed();
    return done == 0 && ended() ? int(WORK_DONE) : done;
}

int corner_turn_impl::pad(void* block)
{
    const int rest = d_p.times - d_filled;
    const std::vector<const void*> nothing(d_p.ports, nullptr);
    d_kernel->execute(nothing.data(), block, d_filled, rest, work_stream());
    for (int port = 0; port < d_p.ports; port++)
        miss(port, position(), position() + rest);
    advance(rest);
    d_filled = d_p.times;
    return rest;
}

void corner_turn_impl::tag_block(uint64_t item, int padding)
{
    d_filled = 0;
    const int64_t end = position(), first = end - d_p.times;
    const double width = input_bandwidth() / d_p.channels;
    if (first == d_origin)
        tag_description(0,
                        item,
                        { time_of(first),
                          rate() / d_p.times,
                          width * d_p.selected_channels,
                          input_samples_per_item() * d_p.times });
    const int shift = d_p.first_channel + d_p.selected_channels / 2 - d_p.channels / 2;
    for (const auto& change : take_changes(first)) {
        if (shift != 0 && width == 0)
            d_logger->warn("rx_freq of the selected channels is not known: the tag "
                           "bandwidth is missing");
        else
            tag_frequency(0, item, time_of(first), change.frequency + shift * width);
    }
    if (padding)
        tag(0, item, tags::partial, pmt::PMT_T);
    for (int input = 0; input < d_p.inputs(); input++) {
        for (const auto& lost : d_lost[input].within(first, end))
            tag_missing(0, item, input, lost.first - d_origin, lost.end - lost.first);
        d_missing[input] += size_of(d_lost[input].within(first, end - padding));
        d_lost[input].drop_before(end);
    }
}

std::vector<uint64_t> corner_turn_impl::clamped() const { return d_kernel->clamped(); }

std::vector<uint64_t> corner_turn_impl::missing() const
{
    return { d_missing.begin(), d_missing.end() };
}

std::string corner_turn_impl::implementation() const
{
    return d_kernel->implementation();
}

} // namespace aperture
} // namespace gr
