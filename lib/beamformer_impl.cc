/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "beamformer_impl.h"
#include <gnuradio/aperture/tags.h>

namespace gr::aperture {

beamformer::sptr beamformer::make(const parameters& p)
{
    check_parameters<beamformer>(p);
    kernels::beamformer::parameters k;
    k.channels = p.channels;
    k.inputs = p.inputs;
    k.beams = p.beams;
    k.spectra_per_frame = p.spectra_per_frame;
    k.input = parse_sample_type(
        "type", p.type, { sample_type::sc8, sample_type::sc4, sample_type::fc32 });
    k.output = parse_sample_type(
        "output_type", p.output_type, { sample_type::fc32, sample_type::sc8 });
    k.check();
    return gnuradio::make_block_sptr<beamformer_impl>(p, k, device::select(p.device));
}

beamformer_impl::beamformer_impl(const parameters& p,
                                 const kernels::beamformer::parameters& k,
                                 const device& d)
    : gr::block(
          "beamformer",
          signature_on(
              d, 1, frame_item_size(k.channels, k.inputs, k.spectra_per_frame, k.input)),
          signature_on(d,
                       1,
                       item_size("beams",
                                 { { "channels", k.channels },
                                   { "beams", k.beams },
                                   { "spectra_per_frame", k.spectra_per_frame } },
                                 size_of(k.output)))),
      weighted_block(kernels::beamformer::make(k, d),
                     { k.channels, k.inputs, k.spectra_per_frame, k.beams, 0 },
                     first_setting(p.weights, p.gains, p.masks),
                     nullptr,
                     d,
                     k.inputs,
                     k.spectra_per_frame),
      d_p(k)
{
    set_latency(p.latency);
}

clocked_block::progress
beamformer_impl::make(int done,
                      int room,
                      const gr_vector_const_void_star& input_items,
                      const gr_vector_void_star& output_items)
{
    const auto run = next_run(std::min<int64_t>(room, update_weights()));
    if (run.windows == 0)
        return {};
    const size_t out_size = output_signature()->sizeof_stream_item(0);
    void* beams = static_cast<char*>(output_items[0]) + done * out_size;
    if (const char* start = starts_of(run, input_items)[0]) {
        d_kernel->execute(start, beams, int(run.windows), work_stream());
    } else {
        work_stream().clear(beams, run.windows * out_size);
        lose(run.windows);
    }
    for (int64_t i = 0; i < run.windows; i++)
        tag_frame(nitems_written(0) + done + i, position() + i);
    advance(run.windows);
    return { run.windows, int(run.windows) };
}

void beamformer_impl::tag_frame(uint64_t item, int64_t frame)
{
    if (take_begin())
        tag_description(0,
                        item,
                        { time_of(frame),
                          rate(),
                          input_bandwidth(),
                          input_samples_per_item(),
                          first_spectrum(frame) });
    else if (take_correction(frame))
        tag_time(0, item, time_of(frame));
    for (const auto& change : take_changes(frame))
        tag_frequency(0, item, time_of(frame), change.frequency);
    tag_settings(0, item, frame);
    if (frame == input_end())
        tag(0, item, tags::partial, pmt::PMT_T);

    const int64_t first = frame * d_p.spectra_per_frame,
                  end = first + d_p.spectra_per_frame;
    const bool any = any_lost(first, end);
    for (int beam = 0; any && beam < d_p.beams; beam++)
        for (const auto& gap : d_weights.lost_of(beam, lost(), first, end))
            tag_missing(0, item, beam, gap.first, gap.end - gap.first);
    forget_before(end);
}

} // namespace gr::aperture
