/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/pfb/pfb.h"
#include <algorithm>

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_pfb : public emulated_kernel<pfb>
{
public:
    explicit emulated_pfb(const parameters& p) : emulated_kernel(p), d_reaches(p.ports) {}

    counts clamped() const override { return d_host->clamped(); }
    void set_gains(const cfloat* gains, stream& s) override
    {
        run(s, &pfb::set_gains, kept(gains, size_t(d_p.inputs()) * d_p.kept_channels()));
    }
    void set_delays(const delay* delays, stream& s) override
    {
        std::fill(d_reaches.begin(), d_reaches.end(), reach());
        for (int input = 0; delays && input < d_p.inputs(); input++) {
            auto& r = d_reaches[input / d_p.inputs_per_port];
            const int64_t samples = delays[input].samples;
            const bool first = input % d_p.inputs_per_port == 0;
            r.most = first ? samples : std::max(r.most, samples);
            r.least = first ? samples : std::min(r.least, samples);
        }
        run(s, &pfb::set_delays, kept(delays, d_p.inputs()));
    }
    void set_position(int64_t spectrum, stream& s) override
    {
        run(s, &pfb::set_position, spectrum);
    }
    void
    execute(const source* sources, void* const* spectra, size_t count, stream& s) override
    {
        const int64_t samples = d_p.span(count);
        std::vector<bytes_of_port> ports;
        for (const auto& r : d_reaches)
            ports.push_back(items_of(-r.most, samples - r.least));
        run(s,
            &pfb::execute,
            sources_of_ports(sources, ports),
            spans(spectra,
                  d_p.ports,
                  count * d_p.inputs_per_port * d_p.kept_channels() *
                      size_of(d_p.output)),
            count);
    }

private:
    //! Samples by which the inputs of a port are delayed at most, and at least.
    struct reach {
        int64_t most = 0, least = 0;
    };
    //! The whole items that hold the samples from `first` to before `end`.
    bytes_of_port items_of(int64_t first, int64_t end) const
    {
        const int64_t unit = samples_in_item(d_p.input, d_p.inputs_per_port);
        const int64_t item = bytes_of(d_p.input, unit, d_p.inputs_per_port);
        const auto whole = [=](int64_t n) { return n / unit - (n % unit < 0); };
        const int64_t from = whole(first), to = whole(end + unit - 1);
        return { from * item, size_t((to - from) * item) };
    }

    std::vector<reach> d_reaches; // [port]
};

} // namespace

template <>
std::unique_ptr<pfb> make(const pfb::parameters& p)
{
    return std::make_unique<emulated_pfb>(p);
}

} // namespace gr::aperture::kernels::emulated
