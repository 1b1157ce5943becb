/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/fused/pfb_split.h"

namespace gr::aperture::kernels::cuda {

namespace {

//! Spectra that are made at a time: enough that starting kernels does not count, and that
//! what each batch shares with the next is little.
size_t spectra_at_once(const pfb::parameters& p)
{
    constexpr size_t scratch_bytes = 128 << 20;
    constexpr size_t together = 16; // are stored in whole sectors
    const size_t line = bytes_of(p.input, p.hop(), p.inputs());
    const size_t fitting = scratch_bytes / line, shared = p.taps - 1;
    const size_t least = 2 * p.taps;
    const size_t spectra = std::max(fitting - std::min(fitting, shared), least);
    return (spectra + together - 1) / together * together;
}

int64_t samples_of(const pfb::parameters& p, size_t spectra)
{
    return int64_t(spectra + p.taps - 1) * p.hop();
}

} // namespace

split_calls::split_calls(const pfb::parameters& p)
    : d_p(p),
      d_batch(spectra_at_once(p)),
      d_splitter(p, samples_of(p, d_batch)),
      d_sources(p.ports),
      d_spectra(p.ports)
{
}

fused_filter::target split_calls::prepare(const pfb::source* sources,
                                          const fused_filter::target& to,
                                          size_t done,
                                          size_t batch,
                                          cudaStream_t s)
{
    const size_t spectrum =
        size_t(d_p.inputs_per_port) * d_p.channels * size_of(d_p.output);
    auto part = to.spectra ? to : to.later(done, d_p);
    for (int port = 0; port < d_p.ports; port++) {
        d_sources[port] = pfb::later(d_p, sources[port], done);
        if (to.spectra)
            d_spectra[port] = static_cast<char*>(to.spectra[port]) + done * spectrum;
    }
    if (to.spectra)
        part.spectra = d_spectra.data();
    d_splitter.execute(d_sources.data(), samples_of(d_p, batch), s);
    return part;
}

std::unique_ptr<split_calls> make_split_calls(const pfb::parameters& p)
{
    return p.inputs_per_port > 1 ? std::make_unique<split_calls>(p) : nullptr;
}

split_filter::split_filter(const pfb::parameters& p,
                           const fused_kernel& kernel,
                           store stored,
                           int device)
    : d_device(device), d_filter(p, kernel, stored, device), d_split(make_split_calls(p))
{
}

std::string split_filter::name() const
{
    return d_filter.name() + (d_split ? ", inputs split" : "");
}

void split_filter::set_delays(const delay* delays, cudaStream_t s)
{
    const device_guard guard(d_device);
    if (d_split)
        d_split->set_delays(delays, s);
    d_filter.set_delays(delays, s);
}

void split_filter::execute(const pfb::source* sources,
                           const fused_filter::target& to,
                           size_t count,
                           cudaStream_t s)
{
    const device_guard guard(d_device);
    if (!d_split)
        d_filter.execute(sources, to, count, s);
    else
        d_split->execute(sources,
                         to,
                         count,
                         s,
                         [&](const pfb::source* apart,
                             const fused_filter::target& part,
                             size_t batch,
                             const input_rows& rows) {
                             d_filter.execute(apart, part, batch, s, rows);
                         });
}

} // namespace gr::aperture::kernels::cuda
