/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beam_power/beam_power.h"
#include "kernels/beamformer/emulated_weighting.h"
#include "kernels/detection/emulated_detector.h"
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_beam_power : public emulated_weighting<emulated_detector<beam_power>>
{
public:
    explicit emulated_beam_power(const parameters& p)
        : emulated_weighting(
              p,
              size_t(p.channels) * p.inputs * p.spectra_per_frame * size_of(p.input),
              p.detect.powers(p.channels, p.all_beams(), p.spectra_per_frame))
    {
    }
    void set_masks(const uint8_t* masks, stream& s) override
    {
        run(s, &beam_power::set_masks, kept(masks, size_t(d_p.incoherent) * d_p.inputs));
    }
};

} // namespace

template <>
std::unique_ptr<beam_power> make(const beam_power::parameters& p)
{
    return std::make_unique<emulated_beam_power>(p);
}

} // namespace gr::aperture::kernels::emulated
