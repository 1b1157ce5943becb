/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "f_engine_impl.h"

namespace gr::aperture {

namespace {

kernels::f_engine::parameters kernel_parameters(const f_engine::parameters& p)
{
    require_align(p.align);
    kernels::f_engine::parameters k;
    k.filter = filter_parameters(p);
    k.spectra_per_frame = p.spectra_per_frame;
    k.first_channel = p.first_channel;
    k.selected_channels =
        p.selected_channels == 0 ? p.channels - p.first_channel : p.selected_channels;
    k.check();
    return k;
}

} // namespace

f_engine::sptr f_engine::make(const parameters& p)
{
    return gnuradio::make_block_sptr<f_engine_impl>(
        p, kernel_parameters(p), device::select(p.device));
}

f_engine_impl::f_engine_impl(const parameters& p,
                             const kernels::f_engine::parameters& k,
                             const device& d)
    : gr::block("f_engine",
                signature_on(d, k.filter.ports, sample_item_size(k.filter)),
                signature_on(d,
                             1,
                             frame_item_size(k.selected_channels,
                                             k.inputs(),
                                             k.spectra_per_frame,
                                             k.filter.output))),
      frame_writer(d,
                   k.turn(),
                   filter_windows(k.filter, p.most_delay, d).length(),
                   filter_windows(k.filter, p.most_delay, d).step(),
                   p.align),
      d_ports(k.filter.ports),
      d_windows(k.filter, p.most_delay, d),
      d_kernel(kernels::f_engine::make(k, d)),
      d_settings{ { k.inputs(), p.channels, p.gain == 0 ? 1 : p.gain },
                  delay_settings(d_windows.extents()) }
{
    set_latency(p.latency);
    set_most_gap(p.most_gap);
    set_relative_time(p.relative_time);
    take_filled_samples();
    set_history(d_windows.history());
    // of spectra, not of blocks: the buffer before this block need not hold a whole one
    set_relative_rate(1, d_windows.step());

    take_settings("gains", [this](const pmt::pmt_t& m) { d_settings.gains.receive(m); });
    take_settings("delays",
                  [this](const pmt::pmt_t& m) { d_settings.delays.receive(m); });
}

bool f_engine_impl::start()
{
    d_windows.reset();
    d_settings.start();
    return frame_writer::start();
}

void f_engine_impl::on_begin()
{
    frame_writer::on_begin();
    d_settings.delays.begin();
}

void f_engine_impl::on_moved(int64_t ticks)
{
    frame_writer::on_moved(ticks);
    d_settings.delays.shift(ticks);
}

void f_engine_impl::on_tag(int port, const gr::tag_t& tag)
{
    try {
        d_settings.delays.read_tag(
            port, tick_of(port, tag.offset), pmt::symbol_to_string(tag.key), tag.value);
    } catch (const std::invalid_argument& e) {
        refuse(e.what());
    }
}

frame_writer::spectra_facts f_engine_impl::facts() const
{
    return { d_windows.middle(),
             rate() / d_windows.step(),
             d_windows.bandwidth(rate()),
             d_windows.samples(),
             d_windows.frequency_shift(rate()) };
}

int64_t f_engine_impl::prepare(int64_t spectrum)
{
    const auto f = facts();
    return d_settings.update(
        spectrum,
        { rate() > 0 ? origin().after(f.middle, rate()) : origin(), f.rate },
        d_windows.samples_of(items_to_keep()),
        { [&](int64_t late) { report("late", 0, spectrum, late); },
          [&](const std::string& reason) { refuse(reason); },
          [&](const delay_settings::change& delays) {
              for (int port = 0; port < d_ports; port++)
                  set_reach(port, d_windows.reach_of(port, delays));
          } },
        *d_kernel,
        work_stream());
}

void f_engine_impl::write(const timeline::run& run,
                          const std::vector<const char*>& starts,
                          void* block,
                          int first,
                          int count)
{
    d_kernel->execute(
        d_windows.sources(run, starts).data(), block, first, count, work_stream());
}

void f_engine_impl::set_gain(std::complex<float> gain, int input)
{
    d_settings.gains.set(gain, input);
}

void f_engine_impl::set_gains(const std::vector<std::complex<float>>& gains, int input)
{
    d_settings.gains.set(gains, input);
}

std::vector<std::complex<float>> f_engine_impl::gains(int input) const
{
    return d_settings.gains.of(input);
}

std::vector<gain_setting> f_engine_impl::gain_settings(int input) const
{
    return d_settings.gains.settings(input);
}

void f_engine_impl::set_delays(const std::vector<double>& delays,
                               const std::vector<double>& delay_rates,
                               const std::vector<double>& phases,
                               const std::vector<double>& phase_rates,
                               int input,
                               const std::optional<setting_time>& time,
                               const std::string& model)
{
    d_settings.delays.set(
        { model, input, timestamp_of(time) }, delays, delay_rates, phases, phase_rates);
}

std::vector<delay_setting> f_engine_impl::delays(int input) const
{
    return d_settings.delays.settings(input);
}

std::vector<uint64_t> f_engine_impl::clamped() const
{
    return d_kernel->clamped().output;
}

std::vector<uint64_t> f_engine_impl::clamped_samples() const
{
    return d_kernel->clamped().samples;
}

std::vector<uint64_t> f_engine_impl::missing() const { return missing_spectra(); }

std::string f_engine_impl::implementation() const { return d_kernel->implementation(); }

} // namespace gr::aperture
