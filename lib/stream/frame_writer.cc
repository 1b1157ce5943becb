/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "stream/frame_writer.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture {

void require_align(double align)
{
    require(std::isfinite(align) && align >= 0,
            "align",
            text_of(align),
            "0 or a number of seconds");
}

frame_writer::frame_writer(const device& d,
                           const kernels::corner_turn::parameters& layout,
                           int64_t window,
                           int64_t hop,
                           double align)
    : clocked_block(d, layout.ports, window, hop),
      d_layout(layout),
      d_hop(hop),
      d_align(align),
      d_lost(layout.inputs()),
      d_missing(layout.inputs())
{
}

bool frame_writer::start()
{
    d_origin = 0;
    d_filled = 0;
    d_frames = 0;
    d_described = false;
    std::fill(d_lost.begin(), d_lost.end(), intervals());
    return clocked_block::start();
}

void frame_writer::on_begin()
{
    if (d_align > 0) {
        const auto f = facts();
        if (f.rate <= 0) {
            fail("align: " + text_of(d_align) +
                 " s needs the tag rx_rate on the first item" + who_says_the_rate);
            return;
        }
        // a millionth of a spectrum for the rounding of the time
        const timestamp next = time_of_spectrum(next_spectrum());
        const double wait = next.until_multiple_of(d_align, 1e-6 / f.rate) * f.rate;
        set_position(position() + std::llround(std::ceil(wait - 1e-6)) * d_hop);
        const double spectra = d_align * f.rate;
        if (std::abs(spectra - std::round(spectra)) > 1e-6 * spectra)
            d_logger->info(
                "align: {:g} s are {:f} spectra: integrations of {:.0f} spectra "
                "drift by {:g} s each",
                d_align,
                spectra,
                std::round(spectra),
                std::round(spectra) / f.rate - d_align);
    }
    // spectra are counted on from those of the frames before
    d_origin = next_spectrum() - d_frames * d_layout.spectra_per_frame;
    d_described = false;
}

void frame_writer::on_moved(int64_t ticks)
{
    for (auto& lost : d_lost)
        lost.shift(ticks / d_hop);
}

void frame_writer::forecast(int, gr_vector_int& required) { require_window(required); }

clocked_block::progress frame_writer::make(int done,
                                           int room,
                                           const gr_vector_const_void_star& input_items,
                                           const gr_vector_void_star& output_items)
{
    // Spectra are written to their place as they come, call after call: the output's
    // memory stays the same until the frame is passed on.
    void* frame = static_cast<char*>(output_items[0]) +
                  done * output_signature()->sizeof_stream_item(0);
    const int64_t length = d_layout.spectra_per_frame;
    const int64_t free =
        std::min<int64_t>(int64_t(std::min(room, frames_at_once())) * length,
                          std::numeric_limits<int>::max()) -
        d_filled;
    auto run = next_run(std::min(free, prepare(next_spectrum())));
    if (const int64_t more = (d_filled + run.windows) % spectra_together();
        more < run.windows)
        run.windows -= more;
    int padding = 0;
    if (run.windows > 0) {
        fill(run, starts_of(run, input_items), frame);
        advance(run.windows);
    } else if ((ended() || interrupted()) && d_filled > 0) {
        padding = int(length - d_filled);
        write({ padding, std::vector<int64_t>(d_layout.ports, -1) },
              std::vector<const char*>(d_layout.ports),
              frame,
              int(d_filled),
              padding);
        d_filled += padding;
    } else {
        return {};
    }
    if (const int64_t finished = d_filled / length; finished > 0)
        finish_frames(frame,
                      output_items.size() < 2
                          ? nullptr
                          : static_cast<char*>(output_items[1]) +
                                done * int64_t(output_signature()->sizeof_stream_item(1)),
                      finished,
                      padding);
    int whole = 0;
    for (; d_filled >= length; d_filled -= length, whole++) {
        const int64_t behind = d_filled - length; // spectra of later frames
        tag_frame(nitems_written(0) + done + whole,
                  next_spectrum() + padding - behind,
                  padding);
    }
    return { run.windows + padding, whole };
}

void frame_writer::fill(const timeline::run& run,
                        const std::vector<const char*>& starts,
                        void* frame)
{
    const int64_t first = next_spectrum(), count = run.windows;
    for (int input = 0; input < d_layout.inputs(); input++)
        if (!starts[input / d_layout.inputs_per_port])
            miss(input, first, first + count);
    write(run, starts, frame, int(d_filled), int(count));
    d_filled += count;
}

void frame_writer::finish_frames(void* frames, void* masks, int64_t count, int padding)
{
    const int64_t end = next_spectrum() + padding;
    const int64_t first = end - d_filled;
    if (padding == 0) {
        finish(frames, masks, int(count), first, d_lost);
        return;
    }
    auto lost = d_lost;
    for (auto& of_input : lost)
        of_input.add(end - padding, end);
    finish(frames, masks, int(count), first, lost);
}

void frame_writer::tag_frame(uint64_t item, int64_t end, int padding)
{
    const int64_t first = end - d_layout.spectra_per_frame;
    const auto f = facts();
    const timestamp time = time_of_spectrum(first);
    const double width = f.bandwidth / d_layout.channels;
    const int ports = output_signature()->max_streams(); // the second has masks
    const bool corrected = d_described && take_correction(first * d_hop);
    for (int port = 0; port < ports; port++)
        if (!d_described)
            tag_description(port,
                            item,
                            { time,
                              f.rate / d_layout.spectra_per_frame,
                              width * d_layout.selected_channels,
                              f.samples * d_layout.spectra_per_frame,
                              f.numbered_from ? std::optional(first + *f.numbered_from)
                                              : std::nullopt });
        else if (corrected)
            tag_time(port, item, time);
    d_described = true;
    d_frames++;
    const int shift =
        d_layout.first_channel + d_layout.selected_channels / 2 - d_layout.channels / 2;
    for (const auto& change : take_changes(first * d_hop)) {
        if (shift != 0 && width == 0)
            d_logger->warn("rx_freq of the selected channels is not known: the "
                           "bandwidth is not");
        else
            for (int port = 0; port < ports; port++)
                tag_frequency(
                    port, item, time, change.frequency + f.rx_freq_shift + shift * width);
    }
    tag_settings(0, item, first * d_hop);
    if (padding)
        tag(0, item, tags::partial, pmt::PMT_T);
    for (int input = 0; input < d_layout.inputs(); input++) {
        // The padding lies where spectra are still to come if the input has not ended.
        const int64_t real = end - padding;
        intervals all;
        for (const auto& lost : d_lost[input].within(first, real))
            all.add(lost.first, lost.end);
        d_missing[input] += size_of(all.within(first, real));
        all.add(real, end);
        for (const auto& lost : all.within(first, end))
            tag_missing(0, item, input, lost.first - d_origin, lost.end - lost.first);
        d_lost[input].drop_before(real);
    }
}

std::vector<uint64_t> frame_writer::missing_spectra() const
{
    return { d_missing.begin(), d_missing.end() };
}

} // namespace gr::aperture
