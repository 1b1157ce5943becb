/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/pfb/emulated_pfb.h"
#include "kernels/pfb/host_pfb.h"
#include "runtime/host_stream.h"
#include <algorithm>

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_pfb : public pfb
{
public:
    explicit emulated_pfb(const parameters& p) : d_p(p), d_host(host::make_pfb(p)) {}

    std::string implementation() const override
    {
        return "emulated, " + d_host->implementation();
    }

    counts clamped() const override { return d_host->clamped(); }

    void set_gains(const cfloat* gains, stream& s) override
    {
        const std::vector<cfloat> kept(gains,
                                       gains + size_t(d_p.inputs()) * d_p.channels);
        run_on(s, [kept, host = d_host] {
            host_stream own;
            host->set_gains(kept.data(), own);
        });
    }

    void set_delays(const delay* delays, stream& s) override
    {
        std::vector<delay> kept;
        d_before = d_behind = 0;
        if (delays)
            kept.assign(delays, delays + d_p.inputs());
        for (const auto& d : kept) {
            d_before = std::max(d_before, d.samples);
            d_behind = std::max(d_behind, -d.samples);
        }
        run_on(s, [kept, host = d_host] {
            host_stream own;
            host->set_delays(kept.empty() ? nullptr : kept.data(), own);
        });
    }

    void
    execute(const source* sources, void* const* spectra, size_t count, stream& s) override
    {
        const int64_t samples = int64_t(count - 1 + d_p.taps) * d_p.step();
        const size_t before = bytes_of_whole(d_before);
        const size_t in_bytes = before + bytes_of_whole(samples + d_behind);
        const size_t out_bytes =
            count * d_p.inputs_per_port * d_p.channels * size_of(d_p.output);
        const std::vector<source> from(sources, sources + d_p.ports);
        const std::vector<void*> to(spectra, spectra + d_p.ports);
        run_on(s, [=, host = d_host] {
            host_stream own;
            const size_t ports = from.size();
            std::vector<std::vector<char>> in(ports), out(ports);
            std::vector<source> plain = from;
            std::vector<void*> results(ports);
            for (size_t port = 0; port < ports; port++) {
                if (from[port].samples) {
                    in[port] = unmasked(
                        static_cast<const char*>(from[port].samples) - before, in_bytes);
                    plain[port].samples = in[port].data() + before;
                }
                out[port].resize(out_bytes);
                results[port] = out[port].data();
            }
            host->execute(plain.data(), results.data(), count, own);
            for (size_t port = 0; port < ports; port++)
                copy_masked(to[port], out[port].data(), out_bytes);
        });
    }

private:
    //! Of samples of a port, with those that fill up the last item.
    size_t bytes_of_whole(int64_t samples) const
    {
        const int unit = samples_in_item(d_p.input, d_p.inputs_per_port);
        return bytes_of(
            d_p.input, (samples + unit - 1) / unit * unit, d_p.inputs_per_port);
    }

    int64_t d_before = 0, d_behind = 0; // samples that delays reach over
    const parameters d_p;
    const std::shared_ptr<pfb> d_host; // work that is not done yet holds it, too
};

} // namespace

std::unique_ptr<pfb> make_pfb(const pfb::parameters& p)
{
    return std::make_unique<emulated_pfb>(p);
}

} // namespace gr::aperture::kernels::emulated
