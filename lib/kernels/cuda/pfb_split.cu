/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/pfb_split.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

//! Spectra that are made at a time: enough that starting kernels does not count, and that
//! what each batch shares with the next is little.
size_t spectra_at_once(const pfb::parameters& p)
{
    constexpr size_t scratch_bytes = 128 << 20;
    constexpr size_t together = 16; // are stored in whole sectors
    const size_t line = bytes_of(p.input, p.step(), p.inputs());
    const size_t fitting = scratch_bytes / line, shared = p.taps - 1;
    const size_t least = 2 * p.taps;
    const size_t spectra = std::max(fitting - std::min(fitting, shared), least);
    return (spectra + together - 1) / together * together;
}

int64_t samples_of(const pfb::parameters& p, size_t spectra)
{
    return int64_t(spectra + p.taps - 1) * p.step();
}

} // namespace

split_filter::split_filter(const pfb::parameters& p,
                           const fused_kernel& kernel,
                           fused_filter::store stored,
                           int device)
    : d_p(p),
      d_device(device),
      d_batch(spectra_at_once(p)),
      d_filter(p, kernel, stored, device),
      d_sources(p.ports),
      d_spectra(p.ports)
{
    if (p.inputs_per_port > 1)
        d_splitter = std::make_unique<input_splitter>(p, samples_of(p, d_batch));
}

std::string split_filter::name() const
{
    return d_filter.name() + (d_splitter ? ", inputs split" : "");
}

void split_filter::set_delays(const delay* delays, cudaStream_t s)
{
    const device_guard guard(d_device);
    if (d_splitter)
        d_splitter->set_shifts(delays, s);
    d_filter.set_delays(delays, s);
}

void split_filter::execute(const pfb::source* sources,
                           const fused_filter::target& to,
                           size_t count,
                           cudaStream_t s)
{
    if (d_splitter)
        execute_split(sources, to, count, s);
    else
        d_filter.execute(sources, to, count, s);
}

void split_filter::execute_split(const pfb::source* sources,
                                 const fused_filter::target& to,
                                 size_t count,
                                 cudaStream_t s)
{
    const device_guard guard(d_device);
    const size_t spectrum =
        size_t(d_p.inputs_per_port) * d_p.channels * size_of(d_p.output);
    auto part = to;
    for (size_t done = 0; done < count; done += d_batch) {
        const size_t batch = std::min(d_batch, count - done);
        for (int port = 0; port < d_p.ports; port++) {
            d_sources[port] = pfb::later(d_p, sources[port], done);
            if (to.spectra)
                d_spectra[port] = static_cast<char*>(to.spectra[port]) + done * spectrum;
        }
        if (to.spectra)
            part.spectra = d_spectra.data();
        part.first_time = to.first_time + int(done);
        d_splitter->execute(d_sources.data(), samples_of(d_p, batch), s);
        d_filter.execute(d_sources.data(), part, batch, s, d_splitter->rows());
    }
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
