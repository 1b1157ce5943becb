/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beamformer_engine.h"
#include "kernels/beamformer/cuda_beamformer.h"

namespace gr::aperture::kernels::cuda {

namespace {

beam_extents extents_of(const beamformer::parameters& p)
{
    return { p.channels, p.inputs, p.beams, p.spectra_per_frame, p.input };
}

class cuda_beamformer : public beamformer
{
public:
    cuda_beamformer(const parameters& p, int device, const std::string& implementation)
        : d_device(device),
          d_target(p.output == sample_type::sc8 ? beam_target::kind::sc8
                                                : beam_target::kind::fc32),
          d_engine(extents_of(p), device, implementation),
          d_clamped(p.beams)
    {
        d_engine.load(d_target, 1);
    }

    std::string implementation() const override { return d_engine.implementation(); }

    prepared_weights_sptr prepare(const cfloat* weights) override
    {
        const device_guard guard(d_device);
        return d_engine.prepare(weights);
    }

    void use(const prepared_weights_sptr& weights, stream& s) override
    {
        const device_guard guard(d_device);
        d_engine.use(weights, native(s));
    }

    void set_gains(const float* gains, stream& s) override
    {
        const device_guard guard(d_device);
        d_engine.set_gains(gains, native(s));
    }

    void execute(const void* voltages, void* beams, int frames, stream& s) override
    {
        if (frames == 0)
            return;
        const device_guard guard(d_device);
        d_engine.form(
            voltages, frames, { d_target, beams, d_clamped.data(), 1 }, native(s));
    }

    std::vector<uint64_t> clamped() const override { return d_clamped.read(); }

private:
    const int d_device;
    const beam_target::kind d_target;
    beam_engine d_engine;
    counters d_clamped;
};

} // namespace

std::vector<std::string> beamformer_implementations(const beamformer::parameters& p,
                                                    int device)
{
    return beam_former_names(extents_of(p), device);
}

std::unique_ptr<beamformer> make_beamformer(const beamformer::parameters& p,
                                            int device,
                                            const std::string& implementation)
{
    const device_guard guard(device);
    return std::make_unique<cuda_beamformer>(p, device, implementation);
}

} // namespace gr::aperture::kernels::cuda
