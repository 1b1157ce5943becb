/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/xengine/xengine.h"
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_xengine : public emulated_kernel<xengine>
{
public:
    explicit emulated_xengine(const parameters& p)
        : emulated_kernel(p), d_size(size_t(p.channels) * p.products())
    {
    }

    void accumulate(const void* voltages, int frames, stream& s) override
    {
        run(s,
            &xengine::accumulate,
            span(voltages,
                 size_t(frames) * d_p.channels * d_p.inputs * d_p.spectra_per_frame *
                     size_of(d_p.type)),
            frames);
    }
    void dump(cfloat* visibilities,
              const double* scales,
              size_t scale_count,
              stream& s) override
    {
        run(s,
            &xengine::dump,
            span(visibilities, d_size),
            kept(scales, scale_count),
            scale_count);
    }
    void dump_means(cfloat* visibilities, const uint32_t* counts, stream& s) override
    {
        run(s, &xengine::dump_means, span(visibilities, d_size), span(counts, d_size));
    }
    void clear(stream& s) override { run(s, &xengine::clear); }

private:
    const size_t d_size; // bytes of the visibilities
};

} // namespace

template <>
std::unique_ptr<xengine> make(const xengine::parameters& p)
{
    return std::make_unique<emulated_xengine>(p);
}

} // namespace gr::aperture::kernels::emulated
