/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/flagging/flagging.h"
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_flagging : public emulated_kernel<flagging>
{
public:
    using emulated_kernel::emulated_kernel;

    void use(const std::shared_ptr<const tables>& t, stream& s) override
    {
        run(s, &flagging::use, t);
    }
    void execute(const void* in,
                 void* out,
                 uint8_t* masks,
                 int frames,
                 const int* there,
                 stream& s) override
    {
        run(s,
            &flagging::execute,
            span(in, frames * d_p.frame_bytes()),
            span(out, frames * d_p.frame_bytes()),
            span(masks, frames * d_p.layout.item_bytes()),
            frames,
            kept(there, size_t(frames) * d_p.layout.inputs * d_p.layout.slices()));
    }
    void clear(stream& s) override { run(s, &flagging::clear); }
    counts found() const override { return d_host->found(); }
};

} // namespace

template <>
std::unique_ptr<flagging> make(const flagging::parameters& p)
{
    return std::make_unique<emulated_flagging>(p);
}

} // namespace gr::aperture::kernels::emulated
