/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/flagging/emulated_flagging.h"
#include "kernels/flagging/host_flagging.h"
#include "runtime/host_stream.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_flagging : public flagging
{
public:
    explicit emulated_flagging(const parameters& p)
        : d_p(p), d_host(host::make_flagging(p))
    {
    }

    std::string implementation() const override
    {
        return "emulated, " + d_host->implementation();
    }

    void use(const std::shared_ptr<const tables>& t, stream& s) override
    {
        run_on(s, [t, host = d_host] {
            host_stream own;
            host->use(t, own);
        });
    }

    void execute(const void* in,
                 void* out,
                 uint8_t* masks,
                 int frames,
                 const int* there,
                 stream& s) override
    {
        std::vector<int> kept;
        if (there)
            kept.assign(there,
                        there + size_t(frames) * d_p.layout.inputs * d_p.layout.slices());
        run_on(s,
               [=,
                kept = std::move(kept),
                host = d_host,
                bytes = frames * d_p.frame_bytes(),
                mask_bytes = frames * d_p.layout.item_bytes()] {
                   host_stream own;
                   auto voltages = unmasked(in, bytes);
                   std::vector<uint8_t> flags(mask_bytes);
                   host->execute(voltages.data(),
                                 voltages.data(),
                                 flags.data(),
                                 frames,
                                 kept.empty() ? nullptr : kept.data(),
                                 own);
                   copy_masked(out, voltages.data(), bytes);
                   copy_masked(masks, flags.data(), mask_bytes);
               });
    }

    void clear(stream& s) override
    {
        run_on(s, [host = d_host] {
            host_stream own;
            host->clear(own);
        });
    }

    counts found() const override { return d_host->found(); }

private:
    const parameters d_p;
    const std::shared_ptr<flagging> d_host; // work that is not done yet holds it, too
};

} // namespace

std::unique_ptr<flagging> make_flagging(const flagging::parameters& p)
{
    return std::make_unique<emulated_flagging>(p);
}

} // namespace gr::aperture::kernels::emulated
