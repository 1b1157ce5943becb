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
                   filter_windows(k.filter).length(),
                   filter_windows(k.filter).step(),
                   p.align),
      d_windows(k.filter),
      d_kernel(kernels::f_engine::make(k, d)),
      d_gains(k.inputs(), p.channels, p.gain == 0 ? 1 : p.gain)
{
    set_latency(p.latency);
    set_most_gap(p.most_gap);
    set_relative_time(p.relative_time);
    // for the size of the buffer before this block: no window needs the zeros themselves
    set_history(d_windows.length() - d_windows.step() + 1);
    // of spectra, not of blocks: the buffer before this block need not hold a whole one
    set_relative_rate(1, d_windows.step());

    take_settings("gains", [this](const pmt::pmt_t& m) { d_gains.receive(m); });
}

bool f_engine_impl::start()
{
    d_windows.reset();
    return frame_writer::start();
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
    return d_gains.update(
        spectrum,
        { rate() > 0 ? origin().after(f.middle, rate()) : origin(), f.rate },
        [&](int64_t late) { report("late", 0, spectrum, late); },
        [&](const cfloat* gains) { d_kernel->set_gains(gains, work_stream()); });
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
    d_gains.set(gain, input);
}

void f_engine_impl::set_gains(const std::vector<std::complex<float>>& gains, int input)
{
    d_gains.set(gains, input);
}

std::vector<std::complex<float>> f_engine_impl::gains(int input) const
{
    return d_gains.of(input);
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
