/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/zoom/zoom.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_zoom : public emulated_kernel<zoom>
{
public:
    using emulated_kernel::emulated_kernel;

    counts clamped() const override { return d_host->clamped(); }
    std::string implementation() const override
    {
        return emulated_kernel::implementation();
    }
    void set_oscillator(const oscillator& o, stream& s) override
    {
        run(s, &zoom::set_oscillator, o);
    }
    void execute(const source* sources,
                 void* const* output,
                 int64_t first,
                 size_t count,
                 stream& s) override
    {
        const int64_t unit = samples_in_item(d_p.input, d_p.inputs_per_port);
        const int64_t whole = (d_p.span(int64_t(count)) + unit - 1) / unit * unit;
        const size_t bytes = bytes_of(d_p.input, whole, d_p.inputs_per_port);
        run(s,
            &zoom::execute,
            sources_of_ports(sources,
                             std::vector<bytes_of_port>(d_p.ports, { 0, bytes })),
            spans(output, d_p.ports, count * d_p.inputs_per_port * size_of(d_p.output)),
            first,
            count);
    }
};

} // namespace

template <>
std::unique_ptr<zoom> make(const zoom::parameters& p)
{
    return std::make_unique<emulated_zoom>(p);
}

} // namespace gr::aperture::kernels::emulated
