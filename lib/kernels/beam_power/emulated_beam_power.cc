/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beam_power/emulated_beam_power.h"
#include "kernels/beam_power/host_beam_power.h"
#include "kernels/beamformer/emulated_weighting.h"
#include "kernels/detection/emulated_detector.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_beam_power : public beam_power
{
public:
    explicit emulated_beam_power(const parameters& p)
        : d_p(p),
          d_host(host::make_beam_power(p)),
          d_detector(d_host,
                     size_t(p.channels) * p.inputs * p.spectra_per_frame *
                         size_of(p.input),
                     p.detect.powers(p.channels, p.all_beams(), p.spectra_per_frame))
    {
    }

    std::string implementation() const override { return d_detector.implementation(); }
    void execute(const void* voltages,
                 float* powers,
                 int frames,
                 const detection_scales& scales,
                 stream& s) override
    {
        d_detector.execute(voltages, powers, frames, scales, s);
    }
    void accumulate(const void* voltages, int frames, stream& s) override
    {
        d_detector.accumulate(voltages, frames, s);
    }
    void dump(float* powers, const detection_scales& scales, stream& s) override
    {
        d_detector.dump(powers, scales, s);
    }
    void clear(stream& s) override { d_detector.clear(s); }

    prepared_weights_sptr prepare(const cfloat* weights) override
    {
        return d_host->prepare(weights);
    }
    void use(const prepared_weights_sptr& weights, stream& s) override
    {
        use_on(s, d_host, weights);
    }
    void set_gains(const float* gains, stream& s) override
    {
        set_gains_on(s, d_host, gains, d_p.beams);
    }
    void set_masks(const uint8_t* masks, stream& s) override
    {
        const uint8_t* end = masks + size_t(d_p.incoherent) * d_p.inputs;
        run_on(s, [kept = std::vector<uint8_t>(masks, end), host = d_host] {
            host_stream own;
            host->set_masks(kept.data(), own);
        });
    }

private:
    const parameters d_p;
    const std::shared_ptr<beam_power> d_host; // work that is not done yet holds it, too
    const emulated_detector d_detector;
};

} // namespace

std::unique_ptr<beam_power> make_beam_power(const beam_power::parameters& p)
{
    return std::make_unique<emulated_beam_power>(p);
}

} // namespace gr::aperture::kernels::emulated
