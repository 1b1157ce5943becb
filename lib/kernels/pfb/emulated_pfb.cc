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
    explicit emulated_pfb(const parameters& p)
        : d_p(p), d_reaches(p.ports), d_host(host::make_pfb(p))
    {
    }

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
        if (delays)
            kept.assign(delays, delays + d_p.inputs());
        std::fill(d_reaches.begin(), d_reaches.end(), reach());
        for (size_t input = 0; input < kept.size(); input++) {
            auto& r = d_reaches[input / d_p.inputs_per_port];
            const int64_t samples = kept[input].samples;
            const bool first = input % d_p.inputs_per_port == 0;
            r.most = first ? samples : std::max(r.most, samples);
            r.least = first ? samples : std::min(r.least, samples);
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
        const size_t out_bytes =
            count * d_p.inputs_per_port * d_p.channels * size_of(d_p.output);
        const std::vector<source> from(sources, sources + d_p.ports);
        const std::vector<void*> to(spectra, spectra + d_p.ports);
        std::vector<span> spans;
        for (const auto& r : d_reaches)
            spans.push_back(items_of(-r.most, samples - r.least));
        run_on(s, [=, host = d_host] {
            host_stream own;
            const size_t ports = from.size();
            std::vector<std::vector<char>> in(ports), out(ports);
            std::vector<source> plain = from;
            std::vector<void*> results(ports);
            for (size_t port = 0; port < ports; port++) {
                if (from[port].samples) {
                    const auto [first, bytes] = spans[port];
                    in[port] = unmasked(
                        static_cast<const char*>(from[port].samples) + first, bytes);
                    plain[port].samples = in[port].data() - first;
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
    //! Samples by which the inputs of a port are delayed at most, and at least.
    struct reach {
        int64_t most = 0, least = 0;
    };
    //! Bytes of a port, from its source's samples on.
    struct span {
        int64_t first;
        size_t bytes;
    };
    //! The whole items that hold the samples from `first` to before `end`.
    span items_of(int64_t first, int64_t end) const
    {
        const int64_t unit = samples_in_item(d_p.input, d_p.inputs_per_port);
        const int64_t item = bytes_of(d_p.input, unit, d_p.inputs_per_port);
        const auto whole = [=](int64_t n) { return n / unit - (n % unit < 0); };
        const int64_t from = whole(first), to = whole(end + unit - 1);
        return { from * item, size_t((to - from) * item) };
    }

    const parameters d_p;
    std::vector<reach> d_reaches;      // [port]
    const std::shared_ptr<pfb> d_host; // work that is not done yet holds it, too
};

} // namespace

std::unique_ptr<pfb> make_pfb(const pfb::parameters& p)
{
    return std::make_unique<emulated_pfb>(p);
}

} // namespace gr::aperture::kernels::emulated
