/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/emulated_beamformer.h"
#include "kernels/beamformer/emulated_weighting.h"
#include "kernels/beamformer/host_beamformer.h"
#include "runtime/host_stream.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_beamformer : public beamformer
{
public:
    explicit emulated_beamformer(const parameters& p)
        : d_p(p), d_host(host::make_beamformer(p))
    {
    }

    std::string implementation() const override
    {
        return "emulated, " + d_host->implementation();
    }

    std::vector<uint64_t> clamped() const override { return d_host->clamped(); }

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

    void execute(const void* voltages, void* beams, int frames, stream& s) override
    {
        const size_t series = size_t(frames) * d_p.channels * d_p.spectra_per_frame;
        const size_t in = series * d_p.inputs * size_of(d_p.input);
        const size_t out = series * d_p.beams * size_of(d_p.output);
        run_on(s, [=, host = d_host] {
            host_stream own;
            std::vector<char> plain(out);
            host->execute(unmasked(voltages, in).data(), plain.data(), frames, own);
            copy_masked(beams, plain.data(), out);
        });
    }

private:
    const parameters d_p;
    const std::shared_ptr<beamformer> d_host; // work that is not done yet holds it, too
};

} // namespace

std::unique_ptr<beamformer> make_beamformer(const beamformer::parameters& p)
{
    return std::make_unique<emulated_beamformer>(p);
}

} // namespace gr::aperture::kernels::emulated
