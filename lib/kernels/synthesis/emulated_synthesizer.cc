/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/synthesis/synthesizer.h"
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_synthesizer : public emulated_kernel<synthesizer>
{
public:
    using emulated_kernel::emulated_kernel;

    void clear(stream& s) override { run(s, &synthesizer::clear); }
    void add(const void* frame,
             int first,
             int count,
             int64_t spectrum,
             const mixing& m,
             int keep,
             stream& s) override
    {
        run(s,
            &synthesizer::add,
            span(frame, d_p.frame_bytes()),
            first,
            count,
            spectrum,
            m,
            keep);
    }
    void write(void* output,
               int64_t count,
               const output_places& places,
               int quarters,
               const std::vector<zeros>& empty,
               stream& s) override
    {
        run(s,
            &synthesizer::write,
            span(output, count * d_p.output_bytes()),
            count,
            places,
            quarters,
            empty);
    }
};

} // namespace

template <>
std::unique_ptr<synthesizer> make(const synthesizer::parameters& p)
{
    return std::make_unique<emulated_synthesizer>(p);
}

} // namespace gr::aperture::kernels::emulated
