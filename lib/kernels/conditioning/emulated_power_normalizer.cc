/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/conditioning/emulated_power_normalizer.h"
#include "kernels/conditioning/host_power_normalizer.h"
#include "runtime/host_stream.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_power_normalizer : public power_normalizer
{
public:
    explicit emulated_power_normalizer(const parameters& p)
        : d_p(p), d_host(host::make_power_normalizer(p))
    {
    }

    std::string implementation() const override
    {
        return "emulated, " + d_host->implementation();
    }

    void execute(const float* powers,
                 void* normalised,
                 int items,
                 const uint8_t* present,
                 stream& s) override
    {
        std::vector<uint8_t> kept;
        if (present)
            kept.assign(present, present + size_t(items) * d_p.beams);
        const size_t in = items * d_p.cells() * sizeof(float),
                     out = items * d_p.item_bytes();
        run_on(s, [=, kept = std::move(kept), host = d_host] {
            host_stream own;
            const auto plain = unmasked(powers, in);
            std::vector<char> made(out);
            host->execute(reinterpret_cast<const float*>(plain.data()),
                          made.data(),
                          items,
                          kept.empty() ? nullptr : kept.data(),
                          own);
            copy_masked(normalised, made.data(), out);
        });
    }

    void clear(stream& s) override
    {
        run_on(s, [host = d_host] {
            host_stream own;
            host->clear(own);
        });
    }

    void forget(stream& s) override
    {
        run_on(s, [host = d_host] {
            host_stream own;
            host->forget(own);
        });
    }

    std::vector<uint64_t> counts() const override { return d_host->counts(); }

private:
    const parameters d_p;
    const std::shared_ptr<power_normalizer> d_host; // work not done yet holds it
};

} // namespace

std::unique_ptr<power_normalizer>
make_power_normalizer(const power_normalizer::parameters& p)
{
    return std::make_unique<emulated_power_normalizer>(p);
}

} // namespace gr::aperture::kernels::emulated
