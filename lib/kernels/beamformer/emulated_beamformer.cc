/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beamformer.h"
#include "kernels/beamformer/emulated_weighting.h"
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_beamformer : public emulated_weighting<emulated_kernel<beamformer>>
{
public:
    using emulated_weighting::emulated_weighting;

    std::vector<uint64_t> clamped() const override { return d_host->clamped(); }
    void execute(const void* voltages, void* beams, int frames, stream& s) override
    {
        const size_t series = size_t(frames) * d_p.channels * d_p.spectra_per_frame;
        run(s,
            &beamformer::execute,
            span(voltages, series * d_p.inputs * size_of(d_p.input)),
            span(beams, series * d_p.beams * size_of(d_p.output)),
            frames);
    }
};

} // namespace

template <>
std::unique_ptr<beamformer> make(const beamformer::parameters& p)
{
    return std::make_unique<emulated_beamformer>(p);
}

} // namespace gr::aperture::kernels::emulated
