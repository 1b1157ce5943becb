/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/emulated/masked.h"
#include "kernels/emulated/pfb.h"
#include "kernels/host/pfb.h"
#include "runtime/host_stream.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace emulated {

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

    void
    execute(const source* sources, void* const* spectra, size_t count, stream& s) override
    {
        const size_t samples = (count - 1 + d_p.taps) * d_p.step();
        const size_t in_bytes = samples * d_p.inputs_per_port * size_of(d_p.input);
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
                    in[port] = unmasked(from[port].samples, in_bytes);
                    plain[port].samples = in[port].data();
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
    const parameters d_p;
    const std::shared_ptr<pfb> d_host; // work that is not done yet holds it, too
};

} // namespace

std::unique_ptr<pfb> make_pfb(const pfb::parameters& p)
{
    return std::make_unique<emulated_pfb>(p);
}

} // namespace emulated
} // namespace kernels
} // namespace aperture
} // namespace gr
