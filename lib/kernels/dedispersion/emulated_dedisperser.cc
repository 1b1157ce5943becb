/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/dedispersion/emulated_dedisperser.h"
#include "kernels/dedispersion/host_dedisperser.h"
#include "runtime/host_stream.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_dedisperser : public dedisperser
{
public:
    explicit emulated_dedisperser(const parameters& p)
        : d_p(p), d_host(host::make_dedisperser(p))
    {
    }

    std::string implementation() const override
    {
        return "emulated, " + d_host->implementation();
    }
    int64_t longest_delay() const override { return d_host->longest_delay(); }
    std::vector<int64_t> delays() const override { return d_host->delays(); }

    void execute(const void* powers, float* items, int64_t times, stream& s) override
    {
        const size_t in = size_t(times + longest_delay()) * d_p.time_bytes();
        const int64_t each = d_p.trials.times_per_item;
        const size_t out = size_t((times + each - 1) / each) * d_p.trials.values();
        run_on(s, [=, host = d_host] {
            host_stream own;
            std::vector<float> plain(out);
            host->execute(unmasked(powers, in).data(), plain.data(), times, own);
            copy_masked(items, plain.data(), out * sizeof(float));
        });
    }

private:
    const parameters d_p;
    const std::shared_ptr<dedisperser> d_host; // work that is not done yet holds it
};

} // namespace

std::unique_ptr<dedisperser> make_dedisperser(const dedisperser::parameters& p)
{
    return std::make_unique<emulated_dedisperser>(p);
}

} // namespace gr::aperture::kernels::emulated
