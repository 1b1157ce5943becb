/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/mask_counts/emulated_mask_counts.h"
#include "kernels/mask_counts/host_mask_counts.h"
#include "runtime/host_stream.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_mask_counts : public mask_counts
{
public:
    explicit emulated_mask_counts(const parameters& p)
        : d_p(p), d_host(host::make_mask_counts(p))
    {
    }

    std::string implementation() const override
    {
        return "emulated, " + d_host->implementation();
    }

    void accumulate(const void* masks,
                    int frames,
                    const missing_spectra& missing,
                    stream& s) override
    {
        const size_t bytes = frames * d_p.mask.item_bytes();
        run_on(s, [=, host = d_host] {
            host_stream own;
            host->accumulate(unmasked(masks, bytes).data(), frames, missing, own);
        });
    }

    void dump(uint32_t* counts, stream& s) override
    {
        const size_t count = d_p.size();
        run_on(s, [=, host = d_host] {
            host_stream own;
            std::vector<uint32_t> plain(count);
            host->dump(plain.data(), own);
            copy_masked(counts, plain.data(), count * sizeof(uint32_t));
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
    const std::shared_ptr<mask_counts> d_host; // work that is not done yet holds it, too
};

} // namespace

std::unique_ptr<mask_counts> make_mask_counts(const mask_counts::parameters& p)
{
    return std::make_unique<emulated_mask_counts>(p);
}

} // namespace gr::aperture::kernels::emulated
