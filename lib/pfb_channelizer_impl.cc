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
    check_parameters<pfb_channelizer>(p);
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
      filtering_impl(kernels::pfb::make(k, d),
                     p,
                     k,
                     d,
                     d,
                     k.ports,
                     filter_windows(k, p.most_delay, d).length(),
                     filter_windows(k, p.most_delay, d).hop()),
      d_p(k),
      d_described(false),
      d_missing(k.inputs())
{
    const auto spectra =
        spectra_of_ring(output_signature()->sizeof_stream_item(0), k.ports);
    // each port by itself: for all together GNU Radio writes a line into the log
    for (int port = 0; port < k.ports && !d.own_memory() && spectra > 0; port++)
        set_min_output_buffer(port, spectra);
}

bool pfb_channelizer_impl::start()
{
    d_described = false;
    return filtering_impl::start();
}

clocked_block::progress
pfb_channelizer_impl::make(int done,
                           int room,
                           const gr_vector_const_void_star& input_items,
                           const gr_vector_void_star& output_items)
{
    const int64_t spectrum = position() / d_windows.hop();
    const int64_t sharing = update_settings(spectrum);
    const auto run = next_run(std::min<int64_t>(room, sharing));
    if (run.windows == 0)
        return {};
    const size_t spectrum_size = output_signature()->sizeof_stream_item(0);
    std::vector<void*> spectra(d_p.ports);
    for (int port = 0; port < d_p.ports; port++)
        spectra[port] = static_cast<char*>(output_items[port]) + done * spectrum_size;
    tag_spectra(nitems_written(0) + done, spectrum, run);
    d_kernel->set_position(spectrum, work_stream());
    d_kernel->execute(d_windows.sources(run, starts_of(run, input_items)).data(),
                      spectra.data(),
                      run.windows,
                      work_stream());
    take_not_numbers([&](int input, int64_t first, int64_t count) {
        const int port = input / d_p.inputs_per_port;
        tag_missing(port,
                    nitems_written(0) + done + uint64_t(first),
                    input % d_p.inputs_per_port,
                    uint64_t(spectrum + first),
                    uint64_t(count));
        d_missing[input] += uint64_t(count);
    });
    advance(run.windows);
    return { run.windows, int(run.windows) };
}

void pfb_channelizer_impl::on_begin()
{
    d_described = false;
    filtering_impl::on_begin();
}

timestamp pfb_channelizer_impl::spectrum_time(int64_t spectrum) const
{
    return time_of(double(spectrum) * d_windows.hop() + d_windows.middle());
}

void pfb_channelizer_impl::tag_spectra(uint64_t item,
                                       int64_t spectrum,
                                       const timeline::run& run)
{
    const timestamp time = spectrum_time(spectrum);
    if (!d_described) {
        for (int port = 0; port < d_p.ports; port++)
            tag_description(
                port,
                item,
                { time,
                  rate() / d_windows.hop(),
                  d_windows.bandwidth(rate()),
                  d_windows.samples(),
                  d_p.oversampled() ? std::optional(spectrum) : std::nullopt });
        d_described = true;
    } else if (take_correction(position())) {
        for (int port = 0; port < d_p.ports; port++)
            tag_time(port, item, time);
    }
    // a change holds from the first spectrum that lies behind it as a whole
    for (const auto& change : take_changes(position()))
        for (int port = 0; port < d_p.ports; port++)
            tag_frequency(
                port, item, time, change.frequency + d_windows.frequency_shift(rate()));
    if (const auto settings = take_settings(position()))
        for (int port = 0; port < d_p.ports; port++)
            tag(port, item, tags::settings, settings);
    for (int port = 0; port < d_p.ports; port++)
        for (int i = 0; i < d_p.inputs_per_port && run.first_item[port] < 0; i++) {
            tag_missing(port, item, i, spectrum, run.windows);
            d_missing[port * d_p.inputs_per_port + i] += run.windows;
        }
}

std::vector<uint64_t> pfb_channelizer_impl::missing() const
{
    return { d_missing.begin(), d_missing.end() };
}

} // namespace gr::aperture
