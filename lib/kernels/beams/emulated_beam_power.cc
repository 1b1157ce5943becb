/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beams/emulated_beam_power.h"
#include "kernels/beams/emulated_detecting.h"
#include "kernels/beams/emulated_weighting.h"
#include "kernels/beams/host_beam_power.h"

namespace gr::aperture::kernels::emulated {

namespace {

class emulated_beam_power : public emulated_detecting<beam_power>
{
public:
    explicit emulated_beam_power(const parameters& p)
        : emulated_detecting(
              host::make_beam_power(p),
              size_t(p.channels) * p.inputs * p.spectra_per_frame * size_of(p.input),
              p.detect.powers(p.channels, p.all_beams(), p.spectra_per_frame)),
          d_p(p)
    {
    }

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
};

} // namespace

std::unique_ptr<beam_power> make_beam_power(const beam_power::parameters& p)
{
    return std::make_unique<emulated_beam_power>(p);
}

} // namespace gr::aperture::kernels::emulated
