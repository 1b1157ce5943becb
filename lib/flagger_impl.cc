/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "flagger_impl.h"
#include "kernels/flagging/kurtosis.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <chrono>

namespace gr::aperture {

flagger::sptr flagger::make(const parameters& p)
{
    check_parameters<flagger>(p);
    const auto k = interference_flags::kernel_parameters(
        p,
        p.spectra_per_slice == 0 ? p.spectra_per_frame : p.spectra_per_slice,
        p.channels,
        p.inputs,
        p.spectra_per_frame,
        parse_sample_type(
            "type", p.type, { sample_type::fc32, sample_type::sc8, sample_type::sc4 }));
    return gnuradio::make_block_sptr<flagger_impl>(p, k, device::select(p.device));
}

std::pair<double, double> flagger::kurtosis_limits(int spectra, double false_alarms)
{
    require_range("spectra", spectra, kernels::least_kurtosis_spectra, 1 << 24);
    require(false_alarms >= 1e-9 && false_alarms <= 0.5,
            "false_alarms",
            text_of(false_alarms),
            "1e-9 to 0.5");
    const auto limits = kernels::limits_of_kurtosis(spectra, false_alarms);
    return { limits.low, limits.high };
}

flagger_impl::flagger_impl(const parameters& p,
                           const kernels::flagging::parameters& k,
                           const device& d)
    : gr::block("flagger",
                signature_on(d,
                             1,
                             frame_item_size(k.layout.channels,
                                             k.layout.inputs,
                                             k.layout.spectra_per_frame,
                                             k.type)),
                signature_on(d,
                             { frame_item_size(k.layout.channels,
                                               k.layout.inputs,
                                               k.layout.spectra_per_frame,
                                               k.type),
                               int(k.layout.item_bytes()) })),
      frame_reader(d, k.layout.inputs, k.layout.spectra_per_frame),
      d_layout(k.layout),
      d_flags(p, k, d)
{
    set_latency(p.latency);
}

bool flagger_impl::start()
{
    d_others.clear();
    if (!frame_reader::start())
        return false;
    // in a thread of its own, as a GPU's counts are waited for
    d_publishing.start(std::chrono::seconds(1), [this] { publish(); });
    return true;
}

bool flagger_impl::stop()
{
    d_publishing.stop();
    return frame_reader::stop();
}

void flagger_impl::publish() { message_port_pub(pmt::mp("status"), d_flags.status()); }

void flagger_impl::on_tag(int port, const gr::tag_t& tag)
{
    frame_reader::on_tag(port, tag);
    if (tag.key == pmt::intern(tags::partial) || tag.key == pmt::intern(tags::missing))
        return; // the time is tagged anew
    d_others.push_back(tag);
    d_others.back().offset = tick_of(port, tag.offset);
}

void flagger_impl::on_moved(int64_t ticks)
{
    frame_reader::on_moved(ticks);
    for (auto& tag : d_others)
        tag.offset += ticks;
}

clocked_block::progress flagger_impl::make(int done,
                                           int room,
                                           const gr_vector_const_void_star& input_items,
                                           const gr_vector_void_star& output_items)
{
    const auto run = next_run(room);
    if (run.windows == 0)
        return {};
    const size_t size = output_signature()->sizeof_stream_item(0);
    char* out = static_cast<char*>(output_items[0]) + done * size;
    auto* masks = static_cast<uint8_t*>(output_items[1]) + done * d_layout.item_bytes();
    if (const char* start = starts_of(run, input_items)[0]) {
        d_flags.execute(start,
                        out,
                        masks,
                        int(run.windows),
                        position() * d_layout.spectra_per_frame,
                        lost(),
                        work_stream());
    } else {
        work_stream().clear(out, run.windows * size);
        work_stream().clear(masks, run.windows * d_layout.item_bytes());
        lose(run.windows);
    }
    for (int64_t i = 0; i < run.windows; i++)
        tag_frame(nitems_written(0) + done + i, position() + i);
    advance(run.windows);
    return { run.windows, int(run.windows) };
}

void flagger_impl::tag_frame(uint64_t item, int64_t frame)
{
    const bool begins = take_begin();
    const bool corrected = !begins && take_correction(frame);
    const auto changes = take_changes(frame);
    for (int port = 0; port < 2; port++) {
        if (begins)
            tag_description(port,
                            item,
                            { time_of(frame),
                              rate(),
                              input_bandwidth(),
                              input_samples_per_item(),
                              first_spectrum(frame) });
        else if (corrected)
            tag_time(port, item, time_of(frame));
        for (const auto& change : changes)
            tag_frequency(port, item, time_of(frame), change.frequency);
    }
    tag_settings(0, item, frame);
    if (frame == input_end())
        tag(0, item, tags::partial, pmt::PMT_T);
    const auto later =
        std::stable_partition(d_others.begin(), d_others.end(), [=](const auto& t) {
            return int64_t(t.offset) <= frame;
        });
    for (auto t = d_others.begin(); t != later; ++t)
        add_item_tag(0, item, t->key, t->value, t->srcid);
    d_others.erase(d_others.begin(), later);

    const int64_t first = frame * d_layout.spectra_per_frame,
                  end = first + d_layout.spectra_per_frame;
    for (int input = 0; input < d_layout.inputs; input++)
        for (const auto& gap : lost()[input].within(first, end))
            tag_missing(0, item, input, gap.first, gap.end - gap.first);
    forget_before(end);
}

} // namespace gr::aperture
