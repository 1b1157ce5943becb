/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/mask_counts/mask_counts.h"
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_mask_counts : public emulated_kernel<mask_counts>
{
public:
    using emulated_kernel::emulated_kernel;

    void accumulate(const void* masks,
                    int frames,
                    const missing_spectra& missing,
                    stream& s) override
    {
        run(s,
            &mask_counts::accumulate,
            span(masks, frames * d_p.mask.item_bytes()),
            frames,
            missing);
    }
    void dump(uint32_t* counts, stream& s) override
    {
        run(s, &mask_counts::dump, span(counts, d_p.size()));
    }
    void clear(stream& s) override { run(s, &mask_counts::clear); }
};

} // namespace

template <>
std::unique_ptr<mask_counts> make(const mask_counts::parameters& p)
{
    return std::make_unique<emulated_mask_counts>(p);
}

} // namespace gr::aperture::kernels::emulated
