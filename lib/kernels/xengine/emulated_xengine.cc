/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/xengine/emulated_xengine.h"
#include "kernels/xengine/host_xengine.h"
#include "runtime/host_stream.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_xengine : public xengine
{
public:
    explicit emulated_xengine(const parameters& p)
        : d_p(p), d_host(host::make_xengine(p, host::xengine_vectors().front()))
    {
    }

    std::string implementation() const override
    {
        return "emulated, " + d_host->implementation();
    }

    void accumulate(const void* voltages, int frames, stream& s) override
    {
        const size_t bytes = size_t(frames) * d_p.channels * d_p.inputs *
                             d_p.spectra_per_frame * size_of(d_p.type);
        run_on(s, [=, host = d_host] {
            host_stream own;
            host->accumulate(unmasked(voltages, bytes).data(), frames, own);
        });
    }

    void dump(cfloat* visibilities,
              const double* scales,
              size_t scale_count,
              stream& s) override
    {
        const size_t count = size_t(d_p.channels) * d_p.products();
        const std::vector<double> kept(scales, scales + scale_count);
        run_on(s, [=, host = d_host] {
            host_stream own;
            std::vector<cfloat> plain(count);
            host->dump(plain.data(), kept.data(), kept.size(), own);
            copy_masked(visibilities, plain.data(), count * sizeof(cfloat));
        });
    }

    void dump_means(cfloat* visibilities, const uint32_t* counts, stream& s) override
    {
        const size_t count = size_t(d_p.channels) * d_p.products();
        run_on(s, [=, host = d_host] {
            host_stream own;
            std::vector<cfloat> plain(count);
            const auto numbers = unmasked(counts, count * sizeof(uint32_t));
            host->dump_means(
                plain.data(), reinterpret_cast<const uint32_t*>(numbers.data()), own);
            copy_masked(visibilities, plain.data(), count * sizeof(cfloat));
        });
    }

    void clear(stream& s) override
    {
        run_on(s, [host = d_host] {
            host_stream own;
            host->clear(own);
        });
    }

private:
    const parameters d_p;
    const std::shared_ptr<xengine> d_host; // work that is not done yet holds it, too
};

} // namespace

std::unique_ptr<xengine> make_xengine(const xengine::parameters& p)
{
    return std::make_unique<emulated_xengine>(p);
}

} // namespace gr::aperture::kernels::emulated
