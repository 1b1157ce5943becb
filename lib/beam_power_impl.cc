/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "beam_power_impl.h"

namespace gr::aperture {

kernels::beam_power::parameters beam_power_impl::kernel_parameters(const parameters& p)
{
    kernels::beam_power::parameters k;
    k.channels = p.channels;
    k.inputs = p.inputs;
    k.beams = p.beams;
    k.incoherent = p.incoherent_beams;
    k.spectra_per_frame = p.spectra_per_frame;
    k.input = parse_sample_type(
        "type", p.type, { sample_type::sc8, sample_type::sc4, sample_type::fc32 });
    k.detect = detection_of(p);
    k.check();
    require(k.incoherent == 0 || !k.detect.of_pairs() || !p.masks.empty(),
            "masks",
            "an empty list",
            "given: of an incoherent pair, they say which inputs are x and y");
    return k;
}

beam_power::sptr beam_power::make(const parameters& p)
{
    check_parameters<beam_power>(p);
    auto k = beam_power_impl::kernel_parameters(p);
    const detecting_block::parameters detecting{ k.channels,    k.inputs,
                                                 k.all_beams(), k.spectra_per_frame,
                                                 k.detect,      p.mean,
                                                 p.latency,     p.spectra_per_slice };
    k.detect = detecting.summed();
    return gnuradio::make_block_sptr<beam_power_impl>(
        p, k, detecting, device::select(p.device));
}

beam_power_impl::beam_power_impl(const parameters& p,
                                 const kernels::beam_power::parameters& k,
                                 const detecting_block::parameters& detecting,
                                 const device& d)
    : gr::block("beam_power",
                input_signature_of(
                    d,
                    detecting,
                    frame_item_size(k.channels, k.inputs, k.spectra_per_frame, k.input)),
                output_signature_of(d, detecting)),
      weighted_block(
          kernels::beam_power::make(k, d),
          { k.channels, k.inputs, k.spectra_per_frame, k.beams, k.incoherent },
          first_setting(p.weights, p.gains, p.masks),
          [k](const uint8_t* masks) { k.check_masks(masks); },
          d,
          detecting)
{
}

void beam_power_impl::set_incoherent_masks(const uint8_t* masks)
{
    d_kernel->set_masks(masks, work_stream());
}

std::vector<intervals::interval> beam_power_impl::lost_of(
    int beam, const std::vector<intervals>& lost, int64_t first, int64_t end)
{
    return d_weights.lost_of(beam, lost, first, end);
}

} // namespace gr::aperture
