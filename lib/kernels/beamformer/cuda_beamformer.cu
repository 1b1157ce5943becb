/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beamformer.h"
#include "kernels/beamformer/beamformer_engine.h"
#include "kernels/common/makers.h"

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

/*!
 * The implementations that GPU `device` has for these parameters, the one to take first:
 *
 *     wgmma f16   sc8 and sc4 on Hopper, if a row of an input is a multiple of 16 bytes
 *     mma f16     sc8 and sc4, any number of times, from Turing on
 *     fp32        fc32
 *
 * The first two have weights in half precision and sums in single precision, and gain in
 * the weights: the error of fc32 output is 3e-4 of its rms at most, and at an rms of 15
 * steps 0.3% of the numbers of sc8 output differ by a step from those of exact weights.
 * Weights may be 2^-28 of the largest of all before they lose precision. fp32 has the
 * error of single-precision sums.
 *
 * Numbers are rounded up to tiles. wgmma f16: 16 inputs (of more than 128: 32); 32 beams
 * (up to 32 beams, or more than 512 inputs), 64 (up to 64 beams, or more than 256 inputs)
 * or 128; 128 times of 128 beams, otherwise 192. mma f16: 32 inputs, 32 beams, 64 times.
 * fp32: 16 inputs, 32 beams, 64 times.
 *
 * \throws std::invalid_argument if there is none
 */
template <>
std::vector<std::string> implementations<beamformer>(const beamformer::parameters& p,
                                                     int device)
{
    return beam_former_names(extents_of(p), device);
}

template <>
std::unique_ptr<beamformer>
make(const beamformer::parameters& p, int device, const std::string& implementation)
{
    const device_guard guard(device);
    return std::make_unique<cuda_beamformer>(p, device, implementation);
}

} // namespace gr::aperture::kernels::cuda
