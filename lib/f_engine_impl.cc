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
      filtering_impl(kernels::f_engine::make(k, d),
                     p,
                     k.filter,
                     d,
                     d,
                     k.turn(),
                     filter_windows(k.filter, p.most_delay, d).length(),
                     filter_windows(k.filter, p.most_delay, d).step(),
                     p.align)
{
}

frame_writer::spectra_facts f_engine_impl::facts() const
{
    return { d_windows.middle(),
             rate() / d_windows.step(),
             d_windows.bandwidth(rate()),
             d_windows.samples(),
             d_windows.frequency_shift(rate()) };
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

} // namespace gr::aperture
