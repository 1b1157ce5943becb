/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "beam_power_impl.h"

namespace gr {
namespace aperture {

kernels::beam_power::parameters beam_power_impl::kernel_parameters(const parameters& p)
{
    kernels::beam_power::parameters k;
    k.channels = p.channels;
    k.inputs = p.inputs;
    k.beams = p.beams;
    k.incoherent = p.incoherent_beams;
    k.times = p.times;
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
    const auto k = beam_power_impl::kernel_parameters(p);
    return gnuradio::make_block_sptr<beam_power_impl>(
        p,
        k,
        detecting_block::parameters{
            k.channels, k.inputs, k.all_beams(), k.times, k.detect, p.mean, p.latency },
        device::select(p.device));
}

beam_power_impl::beam_power_impl(const parameters& p,
                                 const kernels::beam_power::parameters& k,
                                 const detecting_block::parameters& detecting,
                                 const device& d)
    : gr::block(
          "beam_power",
          signature_on(d, 1, block_item_size(k.channels, k.inputs, k.times, k.input)),
          output_signature_of(d, detecting)),
      detecting_block(d, detecting),
      d_kernel(kernels::beam_power::make(k, d)),
      d_weights({ k.channels, k.inputs, k.times, k.beams, k.incoherent },
                first_setting(p.weights, p.gains, p.masks),
                { [this](const cfloat* weights) { return d_kernel->prepare(weights); },
                  [k](const uint8_t* masks) { k.check_masks(masks); } })
{
    take_settings("weights", [this](const pmt::pmt_t& m) { d_weights.receive(m); });
}

bool beam_power_impl::start()
{
    d_weights.start();
    return detecting_block::start();
}

bool beam_power_impl::stop()
{
    for (const auto& reason : d_weights.take_refused(true))
        refuse(reason);
    return detecting_block::stop();
}

int64_t beam_power_impl::prepare()
{
    const int64_t sharing = d_weights.update(
        position(),
        { time_of(0), rate() },
        [this](int64_t late) { report("late", 0, position(), late); },
        [this](const beam_weights::changes& c) {
            if (c.weights)
                d_kernel->use(c.weights, work_stream());
            if (c.gains)
                d_kernel->set_gains(c.gains, work_stream());
            if (c.masks)
                d_kernel->set_masks(c.masks, work_stream());
        });
    for (const auto& reason : d_weights.take_refused(false))
        refuse(reason);
    return sharing;
}

std::vector<intervals::interval> beam_power_impl::lost_of(
    int beam, const std::vector<intervals>& lost, int64_t first, int64_t end)
{
    return d_weights.lost_of(beam, lost, first, end);
}

void beam_power_impl::set_weights(const std::vector<std::complex<float>>& weights,
                                  int beam)
{
    d_weights.set_weights(weights, beam);
}

std::vector<std::complex<float>> beam_power_impl::weights(int beam) const
{
    return d_weights.of(beam);
}

void beam_power_impl::set_gains(const std::vector<float>& gains, int beam)
{
    d_weights.set_gains(gains, beam);
}

std::vector<float> beam_power_impl::gains() const { return d_weights.gains(); }

void beam_power_impl::set_mask(const std::vector<int>& mask, int beam)
{
    d_weights.set_masks(as_masks(mask), beam);
}

} // namespace aperture
} // namespace gr
