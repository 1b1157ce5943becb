/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/prototype.h"
#include "pfb_channelizer_impl.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>

namespace gr::aperture {

std::vector<float> pfb_prototype(int channels, int taps, const std::string& window)
{
    require_range("channels", channels, 4, 131072);
    require(channels % 2 == 0, "channels", std::to_string(channels), "even");
    return kernels::prototype(channels, taps, window);
}

pfb_channelizer::sptr pfb_channelizer::make(const parameters& p)
{
    return gnuradio::make_block_sptr<pfb_channelizer_impl>(
        p, filter_parameters(p), device::select(p.device));
}

pfb_channelizer_impl::pfb_channelizer_impl(const parameters& p,
                                           const kernels::pfb::parameters& k,
                                           const device& d)
    : gr::block("pfb_channelizer",
                signature_on(d, k.ports, sample_item_size(k)),
                signature_on(d,
                             k.ports,
                             item_size(name_of(k.output) + " item of a port",
                                       { { "inputs", k.inputs_per_port },
                                         { "channels", k.channels } },
                                       size_of(k.output)))),
      clocked_block(d,
                    k.ports,
                    filter_windows(k, p.most_delay, d).length(),
                    filter_windows(k, p.most_delay, d).step()),
      d_p(k),
      d_windows(k, p.most_delay, d),
      d_kernel(kernels::pfb::make(k, d)),
      d_settings{ { k.inputs(), k.channels, p.gain == 0 ? 1 : p.gain },
                  delay_settings(d_windows.extents()) },
      d_described(false),
      d_missing(k.inputs())
{
    set_latency(p.latency);
    set_most_gap(p.most_gap);
    set_relative_time(p.relative_time);
    take_filled_samples();
    set_history(d_windows.history());
    set_relative_rate(1, d_windows.step());

    take_settings("gains", [this](const pmt::pmt_t& m) { d_settings.gains.receive(m); });
    take_settings("delays",
                  [this](const pmt::pmt_t& m) { d_settings.delays.receive(m); });
}

bool pfb_channelizer_impl::start()
{
    d_described = false;
    d_windows.reset();
    d_settings.start();
    return clocked_block::start();
}

void pfb_channelizer_impl::forecast(int, gr_vector_int& required)
{
    require_window(required);
}

clocked_block::progress
pfb_channelizer_impl::make(int done,
                           int room,
                           const gr_vector_const_void_star& input_items,
                           const gr_vector_void_star& output_items)
{
    const int64_t spectrum = position() / d_windows.step();
    const int64_t sharing = d_settings.update(
        spectrum,
        { rate() > 0 ? origin().after(d_windows.middle(), rate()) : origin(),
          rate() / d_windows.step() },
        d_windows.samples_of(items_to_keep()),
        { [&](int64_t late) { report("late", 0, spectrum, late); },
          [&](const std::string& reason) { refuse(reason); },
          [&](const delay_settings::change& delays) {
              for (int port = 0; port < d_p.ports; port++)
                  set_reach(port, d_windows.reach_of(port, delays));
          } },
        *d_kernel,
        work_stream());
    const auto run = next_run(std::min<int64_t>(room, sharing));
    if (run.windows == 0)
        return {};
    const size_t spectrum_size = output_signature()->sizeof_stream_item(0);
    std::vector<void*> spectra(d_p.ports);
    for (int port = 0; port < d_p.ports; port++)
        spectra[port] = static_cast<char*>(output_items[port]) + done * spectrum_size;
    tag_spectra(nitems_written(0) + done, spectrum, run);
    d_kernel->execute(d_windows.sources(run, starts_of(run, input_items)).data(),
                      spectra.data(),
                      run.windows,
                      work_stream());
    advance(run.windows);
    return { run.windows, int(run.windows) };
}

void pfb_channelizer_impl::on_begin()
{
    d_described = false;
    d_settings.delays.begin();
}

void pfb_channelizer_impl::on_tag(int port, const gr::tag_t& tag)
{
    try {
        d_settings.delays.read_tag(
            port, tick_of(port, tag.offset), pmt::symbol_to_string(tag.key), tag.value);
    } catch (const std::invalid_argument& e) {
        refuse(e.what());
    }
}

timestamp pfb_channelizer_impl::spectrum_time(int64_t spectrum) const
{
    return time_of(double(spectrum) * d_windows.step() + d_windows.middle());
}

void pfb_channelizer_impl::tag_spectra(uint64_t item,
                                       int64_t spectrum,
                                       const timeline::run& run)
{
    const timestamp time = spectrum_time(spectrum);
    if (!d_described) {
        for (int port = 0; port < d_p.ports; port++)
            tag_description(port,
                            item,
                            { time,
                              rate() / d_windows.step(),
                              d_windows.bandwidth(rate()),
                              d_windows.samples() });
        d_described = true;
    } else if (take_correction(position())) {
        for (int port = 0; port < d_p.ports; port++)
            tag_time(port, item, time);
    }
    // a change holds for the first spectrum that lies behind it as a whole
    for (const auto& change : take_changes(position()))
        for (int port = 0; port < d_p.ports; port++)
            tag_frequency(
                port, item, time, change.frequency + d_windows.frequency_shift(rate()));
    for (int port = 0; port < d_p.ports; port++)
        for (int i = 0; i < d_p.inputs_per_port && run.first_item[port] < 0; i++) {
            tag_missing(port, item, i, spectrum, run.windows);
            d_missing[port * d_p.inputs_per_port + i] += run.windows;
        }
}

void pfb_channelizer_impl::set_gain(std::complex<float> gain, int input)
{
    d_settings.gains.set(gain, input);
}

void pfb_channelizer_impl::set_gains(const std::vector<std::complex<float>>& gains,
                                     int input)
{
    d_settings.gains.set(gains, input);
}

std::vector<std::complex<float>> pfb_channelizer_impl::gains(int input) const
{
    return d_settings.gains.of(input);
}

std::vector<gain_setting> pfb_channelizer_impl::gain_settings(int input) const
{
    return d_settings.gains.settings(input);
}

void pfb_channelizer_impl::set_delays(const std::vector<double>& delays,
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

std::vector<delay_setting> pfb_channelizer_impl::delays(int input) const
{
    return d_settings.delays.settings(input);
}

std::vector<uint64_t> pfb_channelizer_impl::clamped() const
{
    return d_kernel->clamped().output;
}

std::vector<uint64_t> pfb_channelizer_impl::clamped_samples() const
{
    return d_kernel->clamped().samples;
}

std::vector<uint64_t> pfb_channelizer_impl::missing() const
{
    return { d_missing.begin(), d_missing.end() };
}

std::string pfb_channelizer_impl::implementation() const
{
    return d_kernel->implementation();
}

} // namespace gr::aperture
