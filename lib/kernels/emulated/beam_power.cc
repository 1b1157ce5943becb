/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/emulated/beam_power.h"
#include "kernels/emulated/detecting.h"
#include "kernels/host/beam_power.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace emulated {

namespace {

class emulated_beam_power : public emulated_detecting<beam_power>
{
public:
    explicit emulated_beam_power(const parameters& p)
        : emulated_detecting(host::make_beam_power(p),
                             size_t(p.channels) * p.inputs * p.times * size_of(p.input),
                             p.detect.powers(p.channels, p.all_beams(), p.times)),
          d_p(p)
    {
    }

    void set_weights(const cfloat* weights, stream& s) override
    {
        set(&beam_power::set_weights,
            weights,
            size_t(d_p.channels) * d_p.beams * d_p.inputs,
            s);
    }
    void set_gains(const float* gains, stream& s) override
    {
        set(&beam_power::set_gains, gains, d_p.beams, s);
    }
    void set_masks(const uint8_t* masks, stream& s) override
    {
        set(&beam_power::set_masks, masks, size_t(d_p.incoherent) * d_p.inputs, s);
    }

private:
    template <class number>
    void set(void (beam_power::*setter)(const number*, stream&),
             const number* values,
             size_t count,
             stream& s)
    {
        run_on(s, [=, kept = std::vector<number>(values, values + count), host = d_host] {
            host_stream own;
            (host.get()->*setter)(kept.data(), own);
        });
    }

    const parameters d_p;
};

} // namespace

std::unique_ptr<beam_power> make_beam_power(const beam_power::parameters& p)
{
    return std::make_unique<emulated_beam_power>(p);
}

} // namespace emulated
} // namespace kernels
} // namespace aperture
} // namespace gr
