/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/conditioning/power_normalizer.h"
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_power_normalizer : public emulated_kernel<power_normalizer>
{
public:
    using emulated_kernel::emulated_kernel;

    void execute(const float* powers,
                 void* normalised,
                 int items,
                 const uint8_t* present,
                 stream& s) override
    {
        run(s,
            &power_normalizer::execute,
            span(powers, items * d_p.cells()),
            span(normalised, items * d_p.item_bytes()),
            items,
            kept(present, size_t(items) * d_p.beams));
    }
    void clear(stream& s) override { run(s, &power_normalizer::clear); }
    void forget(stream& s) override { run(s, &power_normalizer::forget); }
    std::vector<uint64_t> counts() const override { return d_host->counts(); }
};

} // namespace

template <>
std::unique_ptr<power_normalizer> make(const power_normalizer::parameters& p)
{
    return std::make_unique<emulated_power_normalizer>(p);
}

} // namespace gr::aperture::kernels::emulated
