/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/dedispersion/dedisperser.h"
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_dedisperser : public emulated_kernel<dedisperser>
{
public:
    using emulated_kernel::emulated_kernel;

    int64_t longest_delay() const override { return d_host->longest_delay(); }
    std::vector<int64_t> delays() const override { return d_host->delays(); }
    void execute(const void* powers, float* items, int64_t times, stream& s) override
    {
        const int64_t each = d_p.trials.times_per_item;
        run(s,
            &dedisperser::execute,
            span(powers, size_t(times + longest_delay()) * d_p.time_bytes()),
            span(items, size_t((times + each - 1) / each) * d_p.trials.values()),
            times);
    }
};

} // namespace

template <>
std::unique_ptr<dedisperser> make(const dedisperser::parameters& p)
{
    return std::make_unique<emulated_dedisperser>(p);
}

} // namespace gr::aperture::kernels::emulated
