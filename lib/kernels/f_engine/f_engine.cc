/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/f_engine/f_engine.h"
#include <algorithm>

namespace gr::aperture::kernels {

namespace {

//! Returns the spectra that are filtered before they are transposed: on a CPU they stay
//! in its cache, on other devices they are enough to fill it with work.
int spectra_at_once(size_t spectrum, const device& d)
{
    const size_t scratch = d.own_memory() ? 32 << 20 : 1 << 20;
    const size_t most = std::max<size_t>(32, scratch / spectrum);
    return int(most);
}

//! An F-engine whose spectra go through memory of the device between two kernels.
class composed : public f_engine
{
public:
    composed(const parameters& p, const device& d, int spectra)
        : d_p(p),
          d_filter(pfb::make(p.filter, d)),
          d_transpose(corner_turn::make(p.transposition(), d)),
          d_spectrum(p.filter.inputs_per_port * size_t(p.filter.channels) *
                     size_of(p.filter.output)),
          d_batch(spectra > 0 ? spectra
                              : spectra_at_once(d_spectrum * p.filter.ports, d)),
          d_sources(p.filter.ports),
          d_spectra(p.filter.ports),
          d_filtered(p.filter.ports)
    {
        const size_t bytes = d_spectrum * p.filter.ports * d_batch;
        d_scratch = d.allocate(bytes);
        for (int port = 0; port < p.filter.ports; port++)
            d_spectra[port] = d_scratch.get() + port * d_batch * d_spectrum;
    }

    std::string implementation() const override
    {
        return d_filter->implementation() + " + " + d_transpose->implementation();
    }

    void set_gains(const cfloat* gains, stream& s) override
    {
        d_filter->set_gains(gains, s);
    }

    void set_delays(const delay* delays, stream& s) override
    {
        d_filter->set_delays(delays, s);
    }

    void set_position(int64_t spectrum, stream& s) override
    {
        d_filter->set_position(spectrum, s);
    }

    void execute(
        const pfb::source* sources, void* frame, int first, int count, stream& s) override
    {
        for (int done = 0, batch; done < count; done += batch) {
            batch = std::min(d_batch, count - done);
            for (int port = 0; port < d_p.filter.ports; port++) {
                d_sources[port] = pfb::later(d_p.filter, sources[port], done);
                d_filtered[port] = sources[port].samples ? d_spectra[port] : nullptr;
            }
            const size_t before = d_found ? d_found->size() : 0;
            d_filter->execute(d_sources.data(), d_spectra.data(), batch, s);
            for (size_t i = before; d_found && i < d_found->size(); i++)
                (*d_found)[i].spectrum += done;
            d_transpose->execute(d_filtered.data(), frame, first + done, batch, s);
        }
    }

    void clear_not_numbers(std::vector<spectrum_of_input>* found) override
    {
        d_found = found;
        d_filter->clear_not_numbers(found);
    }

    pfb::counts clamped() const override { return d_filter->clamped(); }

private:
    const parameters d_p;
    const std::unique_ptr<pfb> d_filter;
    const std::unique_ptr<corner_turn> d_transpose;
    const size_t d_spectrum; // bytes of one of a port
    const int d_batch;       // spectra that fit into the scratch memory
    memory d_scratch;        // [port][spectrum][input][channel]
    std::vector<pfb::source> d_sources;
    std::vector<void*> d_spectra;        // scratch memory of each port
    std::vector<const void*> d_filtered; // the same; nullptr: zeros
    std::vector<spectrum_of_input>* d_found = nullptr;
};

} // namespace

corner_turn::parameters f_engine::parameters::transposition() const
{
    return { filter.channels, filter.ports,  filter.inputs_per_port, spectra_per_frame,
             filter.output,   first_channel, selected_channels };
}

void f_engine::parameters::check() const
{
    filter.check();
    transposition().check();
}

std::unique_ptr<f_engine>
f_engine::make_composed(const parameters& p, const device& d, int spectra)
{
    p.check();
    return std::make_unique<composed>(p, d, spectra);
}

} // namespace gr::aperture::kernels
